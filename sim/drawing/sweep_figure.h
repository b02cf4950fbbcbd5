// The figure of a sweep: one result of its points over the axes that vary, as gnuplot's commands.
//
//   one axis     a line with the intervals of its points; from ten points on these are a band; of
//                words, which are no numbers, the points alone
//   two axes     a line for each value of the axis that has fewer; of more than eight a heat map
//   three axes   a panel of the two others for each value of the axis that has the fewest
//
// Results of several files are an axis, too: a line for each file.
#pragma once
#include "sim/drawing/figure_points.h"

#include <cstddef>
#include <span>
#include <string>

namespace steptime {

struct SweepFigure {
  std::string commands;    ///< without terminal and output
  double width = 1;        ///< the picture's width, in widths of a figure of one panel
  double height = 1;       ///< and in such heights
  std::size_t points = 0;  ///< points of the sweep that the figure shows
  std::string left_out;    ///< as figure_points() has it
};

/// Throws what figure_points() throws, and InputError for more panels than can be told apart.
SweepFigure sweep_figure(std::span<const ResultRow> rows, const FigureRequest& request);

}  // namespace steptime
