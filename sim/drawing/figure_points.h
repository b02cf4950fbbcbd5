// The points of a figure: of the results those that are asked for, and where they stand on the axes
// that vary among them.
#pragma once
#include "sim/drawing/swept_axis.h"
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

struct FigurePoint {
  std::vector<std::size_t> at;  ///< on each axis
  double value = 0;
  double low = 0;
  double high = 0;
  /// The workers of the point, or the replicas of a layout: an ideal speedup; 0: it is not drawn.
  double ideal = 0;
};

/// Where a point without such a value would be.
struct FigureGap {
  std::vector<std::size_t> at;  ///< on each axis; the number of its values where it is on none
  std::vector<double> places;   ///< its numbers, whatever values the axes have
};

struct FigurePoints {
  std::string key;
  std::vector<SweptAxis> axes;  ///< from one to three
  std::vector<FigurePoint> points;
  std::vector<FigureGap> gaps;
  bool has_interval = false;
  /// How many points of those asked for failed, and how many have no such value; "" of none.
  std::string left_out;
};

/// Throws InputError when no axis varies or more than three do, and where no point has the key.
FigurePoints figure_points(std::span<const ResultRow> rows, const FigureRequest& request);

}  // namespace steptime
