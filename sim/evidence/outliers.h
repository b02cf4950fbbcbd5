// Times of sizes that are no measurement of the collective, told by their neighbours.
#pragma once
#include <vector>

namespace steptime {

/// Standard deviation of a normal distribution per median absolute deviation.
inline constexpr double kMad = 1.4826;

struct Point {
  double bytes = 0;
  double seconds = 0;
  double weight = 1;  ///< 0 to 1: how much it is believed
};
using Points = std::vector<Point>;

double median(std::vector<double> values);

/// Weight 0 for what agrees with its neighbours neither below nor above, in a table of one round.
/// Sizes increase.
void doubt_outliers(Points& points);

}  // namespace steptime
