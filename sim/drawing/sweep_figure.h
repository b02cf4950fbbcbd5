// The figure of a sweep: one result of its points over the axes that vary, as gnuplot's commands.
//
//   one axis     a line with the intervals of its points; from ten points on these are a band
//   two axes     a line for each value of the axis that has fewer; of more than eight a heat map
//   three axes   a panel of the two others for each value of the axis that has the fewest
#pragma once
#include "sim/evidence/comparison.h"

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace steptime {

struct FigureRequest {
  /// A result's key whose value is a number; "": speedup over nodes, else the step time.
  std::string key;
  std::string title;  ///< above the figure
  /// Swept pointers and the value that a point must have there, as a cell of a table shows it.
  std::vector<std::pair<std::string, std::string>> where;
};

struct SweepFigure {
  std::string commands;      ///< without terminal and output
  double width = 1;          ///< the picture's width, in widths of a figure of one panel
  double height = 1;         ///< and in such heights
  std::size_t points = 0;    ///< points of the sweep that the figure shows
  std::size_t left_out = 0;  ///< points that failed, or have no such value
};

/// Throws InputError when no axis varies or more than three do, for a key that no point has, and
/// for more panels than can be told apart.
SweepFigure sweep_figure(std::span<const ResultRow> rows, const FigureRequest& request);

}  // namespace steptime
