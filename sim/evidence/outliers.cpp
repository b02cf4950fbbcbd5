#include "sim/evidence/outliers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

namespace steptime {
namespace {

constexpr double kOutlier = 5;             // standard deviations
constexpr std::ptrdiff_t kNeighbours = 3;  // on each side, that a size must agree with

/// ln of what the line through two points (in logarithms of both) gives for the size; sizes of 0 B
/// count as 1.
double log_time(const Point& left, const Point& right, double bytes) {
  const auto place = [](double b) { return std::log(std::max(1.0, b)); };
  const double run = place(right.bytes) - place(left.bytes);
  const double share = run > 0 ? (place(bytes) - place(left.bytes)) / run : 0;
  return std::lerp(std::log(left.seconds), std::log(right.seconds), share);
}

/// ln(time / what the neighbours on one side expect): the median over their pairs; nothing where
/// there are fewer than two.
std::optional<double> surprise(const Points& points, std::ptrdiff_t i, std::ptrdiff_t first,
                               std::ptrdiff_t last) {
  first = std::max<std::ptrdiff_t>(0, first);
  last = std::min(last, static_cast<std::ptrdiff_t>(points.size()) - 1);
  std::vector<double> expected;
  const Point& here = points[static_cast<std::size_t>(i)];
  for (std::ptrdiff_t j = first; j < last; ++j) {
    for (std::ptrdiff_t k = j + 1; k <= last; ++k) {
      if (j == i || k == i) continue;
      expected.push_back(log_time(points[static_cast<std::size_t>(j)],
                                  points[static_cast<std::size_t>(k)], here.bytes));
    }
  }
  if (expected.empty()) return std::nullopt;
  return std::log(here.seconds) - median(std::move(expected));
}

/// Weight 0 for what agrees neither with the sizes below nor with those above nor with both, by
/// more than sizes nearby do. The outermost sizes have too few neighbours to be told from a change.
void doubt_dense(Points& points) {
  constexpr std::size_t kNearby = 8;
  constexpr double kLeast = 0.1;  // what is less is left to Tukey's weights
  constexpr double kDense = 4;    // the neighbours' largest size over their smallest
  std::vector<double> least;
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(points.size()); ++i) {
    double found = std::numeric_limits<double>::infinity();
    for (const auto& [first, last] :
         {std::pair{i - kNeighbours, i - 1}, {i + 1, i + kNeighbours}, {i - 2, i + 2}}) {
      if (const auto s = surprise(points, i, first, last)) found = std::min(found, std::abs(*s));
    }
    least.push_back(found);
  }
  for (std::size_t i = kNeighbours; i + kNeighbours < points.size(); ++i) {
    if (points[i + kNeighbours].bytes > kDense * points[i - kNeighbours].bytes) continue;
    const auto from = least.begin() + static_cast<std::ptrdiff_t>(i > kNearby ? i - kNearby : 0);
    const auto to =
        least.begin() + static_cast<std::ptrdiff_t>(std::min(points.size(), i + kNearby + 1));
    const double spread = kMad * median({from, to});
    if (least[i] > std::max(kLeast, kOutlier * spread)) points[i].weight = 0;
  }
}

/// By how much, in logarithms, times of two sizes go against what every line does: a larger size
/// takes no less time, and not more than in proportion.
double against_lines(const Point& small, const Point& large) {
  const double grows = std::log(large.seconds / small.seconds);
  const double most = std::log(large.bytes / std::max(1.0, small.bytes));
  return std::max({0.0, -grows, grows - most});
}

/// The same where sizes are too far apart for their neighbours' pairs to say what to expect, as
/// powers of two are: weight 0 for a size without which its neighbours go with lines, and with
/// which they do not. A step between two protocols goes against lines with either of its sizes. Of
/// the outermost sizes, one that is above its neighbour (the first) or below it (the last).
void doubt_spikes(Points& points) {
  constexpr double kLeast = 0.2;
  constexpr double kRepaired = 0.05;
  const std::size_t n = points.size();
  if (n < 5) return;
  std::vector<double> with(n);
  std::vector<double> without(n);
  for (std::size_t i = 1; i + 1 < n; ++i) {
    with[i] = against_lines(points[i - 1], points[i]) + against_lines(points[i], points[i + 1]);
    without[i] = against_lines(points[i - 1], points[i + 1]);
  }
  if (points[0].seconds > points[1].seconds) {
    with[0] = against_lines(points[0], points[1]);
    without[0] = against_lines(points[1], points[2]);
  }
  if (points[n - 1].seconds < points[n - 2].seconds) {
    with[n - 1] = against_lines(points[n - 2], points[n - 1]);
    without[n - 1] = against_lines(points[n - 3], points[n - 2]);
  }
  const double least = std::max(kLeast, kOutlier * kMad * median(with));
  // Next to a spike a size goes against lines, too, but less, or is not mended without it.
  std::vector<double> spikes(n);
  for (std::size_t i = 0; i < n; ++i)
    spikes[i] = with[i] > least && without[i] <= kRepaired ? with[i] : 0;
  // Where the last is below the one before it, either may be meant: it is the last, unless the
  // other goes against the one in front of it, too.
  if (spikes[n - 1] >= spikes[n - 2]) spikes[n - 2] = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const bool is_peak =
        (i == 0 || spikes[i] > spikes[i - 1]) && (i + 1 == n || spikes[i] >= spikes[i + 1]);
    if (spikes[i] > 0 && is_peak) points[i].weight = 0;
  }
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

void doubt_outliers(Points& points) {
  doubt_dense(points);
  doubt_spikes(points);
}

}  // namespace steptime
