#include "sim/evidence/curve_fit.h"

#include "sim/core/error.h"
#include "sim/core/random.h"
#include "sim/evidence/outliers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

namespace steptime {
namespace {

constexpr double kTrimmed = 0.2;  // of the rounds, on each side
constexpr double kTukey = 4.685;  // 95 % efficient for normal errors
constexpr double kInterval = 0.95;

/// How many of so many rounds are left out on each side.
std::size_t trimmed_rounds(std::size_t rounds) {
  if (rounds < 5) return (rounds - 1) / 2;
  return std::max<std::size_t>(1, static_cast<std::size_t>(kTrimmed * static_cast<double>(rounds)));
}

/// Sorts them.
double trimmed_mean(std::vector<double>& values) {
  const std::size_t cut = trimmed_rounds(values.size());
  std::sort(values.begin(), values.end());
  const auto from = values.begin() + static_cast<std::ptrdiff_t>(cut);
  const auto count = static_cast<std::ptrdiff_t>(values.size() - 2 * cut);
  return std::accumulate(from, from + count, 0.0) / static_cast<double>(count);
}

struct Line {
  double a = 0;      ///< s
  double b = 0;      ///< s/B, not negative
  double error = 0;  ///< sum of squared relative errors
};

/// Sums of weights and products over the points before each one.
class LineSums {
 public:
  explicit LineSums(const Points& points) : sums_(points.size() + 1) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Point& p = points[i];
      const double w = p.weight / (p.seconds * p.seconds);
      const std::array<double, 6> term{
          w, w * p.bytes, w * p.bytes * p.bytes, w * p.seconds, w * p.bytes * p.seconds, p.weight};
      for (std::size_t k = 0; k < term.size(); ++k)
        sums_[i + 1][k] = sums_[i][k] + term[k];
    }
  }

  /// Through the points first to last, weighted by 1 / time^2; at least one has weight.
  Line line(std::size_t first, std::size_t last) const {
    std::array<double, 6> s{};
    for (std::size_t k = 0; k < s.size(); ++k)
      s[k] = sums_[last + 1][k] - sums_[first][k];
    const auto [w, wx, wxx, wy, wxy, wyy] = s;
    const double mean_x = wx / w;
    const double mean_y = wy / w;
    const double sxx = wxx - wx * mean_x;
    const double sxy = wxy - wx * mean_y;
    const double syy = std::max(0.0, wyy - wy * mean_y);
    // One point, or what rounding left of one.
    if (first == last || sxx <= 1e-12 * wxx || sxy <= 0) return {mean_y, 0, syy};
    const double b = sxy / sxx;
    return {mean_y - b * mean_x, b, std::max(0.0, syy - b * sxy)};
  }

 private:
  std::vector<std::array<double, 6>> sums_;
};

struct Stretch {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// The stretches with the least squared relative error plus `price` for each.
std::vector<Stretch> cut(const Points& points, double price) {
  const LineSums sums(points);
  const std::size_t n = points.size();
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> from(n + 1, 0);
  best[0] = 0;
  for (std::size_t end = 1; end <= n; ++end) {
    for (std::size_t begin = 0; begin < end; ++begin) {
      const double cost = best[begin] + price + sums.line(begin, end - 1).error;
      // On a tie the longer stretch, which comes first.
      if (cost < best[end]) {
        best[end] = cost;
        from[end] = begin;
      }
    }
  }
  std::vector<Stretch> stretches;
  for (std::size_t end = n; end > 0; end = from[end])
    stretches.push_back({from[end], end - 1});
  std::reverse(stretches.begin(), stretches.end());
  return stretches;
}

/// Knots with the fitted time only.
std::vector<MeasuredSegment> lines(const Points& points, std::span<const Stretch> stretches) {
  const LineSums sums(points);
  std::vector<MeasuredSegment> segments;
  for (const Stretch& s : stretches) {
    const Line line = sums.line(s.first, s.last);
    // A line that starts steeply must not promise less than nothing.
    const auto at = [&](const Point& p) {
      return Knot{p.bytes, std::max(line.a + line.b * p.bytes, p.seconds / 2)};
    };
    segments.push_back({at(points[s.first]), at(points[s.last])});
  }
  return segments;
}

/// Believes less what lies far from its line: Tukey's weights.
void reweigh(Points& points, const MeasuredCurve& curve) {
  std::vector<double> misses;
  for (const Point& p : points)
    misses.push_back(std::abs(std::log(p.seconds / curve.fitted(p.bytes))));
  std::vector<double> sorted = misses;
  const double spread = std::max(1e-6, kMad * median(std::move(sorted)));
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double u = misses[i] / (kTukey * spread);
    points[i].weight = u < 1 ? (1 - u * u) * (1 - u * u) : 0;
  }
}

Points believed(const Points& points) {
  Points kept;
  for (const Point& p : points) {
    if (p.weight > 0) kept.push_back(p);
  }
  return kept;
}

std::vector<MeasuredSegment> fitted(Points points, double price) {
  const std::vector<Stretch> stretches = cut(points, price);
  std::vector<MeasuredSegment> segments = lines(points, stretches);
  if (price == 0) return segments;
  const bool is_dense = points.size() >= 4 * stretches.size();
  for (int i = 0; is_dense && i < 2; ++i) {
    reweigh(points, MeasuredCurve(segments));
    for (const Stretch& s : stretches) {  // a line needs both of its ends
      for (const std::size_t end : {s.first, s.last})
        points[end].weight = std::max(points[end].weight, 0.1);
    }
    segments = lines(points, stretches);
  }
  return segments;
}

/// |ln(predicted / measured)| of each believed point of `tested` between the sizes of `trained`.
std::vector<double> misses(const Points& trained, const Points& tested, double price) {
  const MeasuredCurve curve(fitted(trained, price));
  std::vector<double> result;
  for (const Point& p : tested) {
    if (p.bytes > trained.front().bytes && p.bytes < trained.back().bytes)
      result.push_back(std::abs(std::log(curve.fitted(p.bytes) / p.seconds)));
  }
  return result;
}

/// Those at even and those at odd places.
std::pair<Points, Points> halves_of(const Points& points) {
  std::pair<Points, Points> halves;
  for (std::size_t i = 0; i < points.size(); ++i)
    (i % 2 == 0 ? halves.first : halves.second).push_back(points[i]);
  return halves;
}

std::vector<double> misses(const Points& points, double price) {
  const auto [even, odd] = halves_of(points);
  if (odd.size() < 2) return {};
  std::vector<double> all = misses(even, odd, price);
  for (const double missed : misses(odd, even, price))
    all.push_back(missed);
  return all;
}

/// The highest price of a line with which every second size predicts the others nearly as well as
/// with the best one: a fourth, or half a per cent of the time, worse on average. The best one
/// alone would take a line for every few of many dense sizes.
double best_price(const Points& points) {
  constexpr double kCheapest = 1e-7;
  constexpr double kRatio = 4;
  std::vector<std::pair<double, double>> tried;  // price, mean miss
  double price = 0;
  for (int i = 0; i < 12; ++i, price = price == 0 ? kCheapest : price * kRatio) {
    const std::vector<double> missed = misses(points, price);
    if (missed.empty()) return 0;
    const double sum = std::accumulate(missed.begin(), missed.end(), 0.0);
    tried.emplace_back(price, sum / static_cast<double>(missed.size()));
  }
  const auto least = std::min_element(
      tried.begin(), tried.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
  const double good_enough = std::max(least->second * 1.25, least->second + 0.005);
  for (auto i = tried.rbegin(); i != tried.rend(); ++i) {
    if (i->second <= good_enough) return i->first;
  }
  return least->first;
}

/// Logarithms of the times, by size and round.
using Logs = std::vector<std::vector<double>>;

Logs logs_of(std::span<const SizeTimes> sizes) {
  Logs logs;
  for (const SizeTimes& size : sizes) {
    logs.emplace_back();
    for (const double s : size.seconds)
      logs.back().push_back(std::log(s));
  }
  return logs;
}

Points points_of(std::span<const SizeTimes> sizes, const Logs& logs) {
  Points points;
  std::vector<double> rounds;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    rounds = logs[i];
    points.push_back({static_cast<double>(sizes[i].bytes), std::exp(trimmed_mean(rounds))});
  }
  return points;
}

void check(std::span<const SizeTimes> sizes) {
  if (sizes.empty() || (sizes.size() == 1 && sizes.front().bytes > 0))
    throw InputError(fmt::format("expected at least two sizes, got {}", sizes.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0 && sizes[i].bytes <= sizes[i - 1].bytes)
      throw InputError(fmt::format("expected increasing sizes, got {} B after {} B", sizes[i].bytes,
                                   sizes[i - 1].bytes));
    if (sizes[i].seconds.size() != sizes.front().seconds.size() || sizes[i].seconds.empty())
      throw InputError(fmt::format("expected {} rounds of {} B, got {}",
                                   sizes.front().seconds.size(), sizes[i].bytes,
                                   sizes[i].seconds.size()));
    for (const double s : sizes[i].seconds) {
      if (!(s > 0) || !std::isfinite(s))
        throw InputError(fmt::format("expected positive times of {} B, got {}", sizes[i].bytes, s));
    }
  }
}

/// Standard deviation of each segment's two ends in logarithms, over resampled rounds.
class Resampled {
 public:
  Resampled(const Logs& logs, const Points& points, const std::vector<Stretch>& stretches)
      : logs_(logs), points_(points), stretches_(stretches), sums_(2 * stretches.size()) {}

  void draw(std::uint32_t index, const RandomStream& stream) {
    const std::size_t rounds = logs_.front().size();
    std::vector<std::size_t> drawn(rounds);
    for (std::size_t r = 0; r < rounds; ++r) {
      drawn[r] = static_cast<std::size_t>(stream.uniform(index, static_cast<std::uint32_t>(r)) *
                                          static_cast<double>(rounds));
    }
    Points points = points_;
    std::vector<double> values(rounds);
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (std::size_t r = 0; r < rounds; ++r)
        values[r] = logs_[i][drawn[r]];
      points[i].seconds = std::exp(trimmed_mean(values));
    }
    const auto segments = lines(points, stretches_);
    for (std::size_t k = 0; k < segments.size(); ++k) {
      add(2 * k, std::log(segments[k].first.fitted));
      add(2 * k + 1, std::log(segments[k].last.fitted));
    }
    ++count_;
  }
  /// Of the fit's logarithm, end by end. Trimmed means of resampled rounds scatter as much more
  /// than those of new rounds would as resampling makes less of it: the test of coverage says so.
  double deviation(std::size_t end) const {
    const Sums& s = sums_[end];
    const double mean = s.sum / count_;
    return std::sqrt(std::max(0.0, s.squares / count_ - mean * mean));
  }

 private:
  struct Sums {
    double sum = 0;
    double squares = 0;
    std::optional<double> first{};  ///< sums are of differences from it
  };
  void add(std::size_t end, double value) {
    Sums& s = sums_[end];
    if (!s.first) s.first = value;
    s.sum += value - *s.first;
    s.squares += (value - *s.first) * (value - *s.first);
  }

  const Logs& logs_;
  const Points& points_;
  const std::vector<Stretch>& stretches_;
  std::vector<Sums> sums_;
  double count_ = 0;
};

/// In logarithms, of an interval that says nothing.
const double kWidest = std::log(100.0);

/// At most by a factor of 100: a few rounds that scatter much say nothing, and that is enough.
void widen(Knot& knot, double log_width) {
  log_width = std::min(log_width, kWidest);
  knot.low = knot.fitted * std::exp(-log_width);
  knot.high = knot.fitted * std::exp(log_width);
}

void add_intervals(std::vector<MeasuredSegment>& segments, const Logs& logs, const Points& points,
                   const std::vector<Stretch>& stretches, const FitOptions& options) {
  Resampled resampled(logs, points, stretches);
  const RandomStream stream(options.seed, Purpose::kResample);
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(options.resamples); ++i)
    resampled.draw(i, stream);
  const std::size_t rounds = logs.front().size();
  const boost::math::students_t_distribution<double> t(
      static_cast<double>(rounds - 2 * trimmed_rounds(rounds) > 1 ? rounds - 1 : 1));
  const double factor = boost::math::quantile(t, (1 + kInterval) / 2);
  for (std::size_t k = 0; k < segments.size(); ++k) {
    widen(segments[k].first, factor * resampled.deviation(2 * k));
    widen(segments[k].last, factor * resampled.deviation(2 * k + 1));
  }
}

/// What 95 % of the sizes were missed by, at most, when every second one predicted the others. Of
/// fewer than four sizes none lies between two others of a half: nothing is known.
double held_out_width(const Points& points, double price) {
  std::vector<double> all = misses(points, price);
  if (all.empty()) return kWidest;
  std::sort(all.begin(), all.end());
  return all[std::min(all.size() - 1,
                      static_cast<std::size_t>(kInterval * static_cast<double>(all.size())))];
}

}  // namespace

Fit fit_curve(std::span<const SizeTimes> sizes, const FitOptions& options) {
  check(sizes);
  const Logs all_logs = logs_of(sizes);
  Points points = points_of(sizes, all_logs);
  const std::size_t rounds = sizes.front().seconds.size();
  if (trimmed_rounds(rounds) == 0) doubt_outliers(points);  // else the rounds show it
  Fit fit;
  Logs logs;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].weight > 0)
      logs.push_back(all_logs[i]);
    else
      fit.outliers.push_back(sizes[i].bytes);
  }
  points = believed(points);
  const double price = best_price(points);
  std::vector<MeasuredSegment> segments = fitted(points, price);
  if (rounds > 1) {
    add_intervals(segments, logs, points, cut(points, price), options);
  } else {
    const double width = held_out_width(points, price);
    for (MeasuredSegment& s : segments) {
      widen(s.first, width);
      widen(s.last, width);
    }
  }
  fit.operation = {.rounds = static_cast<std::int64_t>(rounds),
                   .interval_from = rounds > 1 ? "rounds" : "held-out sizes",
                   .segments = std::move(segments)};
  return fit;
}

HeldOut hold_out(std::span<const SizeTimes> sizes) {
  check(sizes);
  std::vector<SizeTimes> kept;
  for (std::size_t i = 0; i < sizes.size(); i += 2)
    kept.push_back(sizes[i]);
  const MeasuredCurve curve(fit_curve(kept, {.resamples = 2}).operation.segments);
  const Points points = points_of(sizes, logs_of(sizes));
  HeldOut result;
  for (std::size_t i = 1; i < points.size(); i += 2) {
    if (points[i].bytes > curve.last_bytes()) continue;
    const double error = (curve.fitted(points[i].bytes) / points[i].seconds - 1) * 100;
    ++result.sizes;
    result.mean_pct += std::abs(error);
    if (std::abs(error) > std::abs(result.worst_pct)) {
      result.worst_pct = error;
      result.worst_bytes = sizes[i].bytes;
    }
  }
  if (result.sizes > 0) result.mean_pct /= static_cast<double>(result.sizes);
  return result;
}

std::vector<NextSize> advice(std::span<const SizeTimes> sizes, const Fit& fit, std::size_t most) {
  const MeasuredCurve curve(fit.operation.segments);
  const Points points = points_of(sizes, logs_of(sizes));
  // What a size says that its neighbours do not: the gaps beside it may hide as much.
  std::vector<double> news(points.size(), 0);
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const double share =
        (points[i].bytes - points[i - 1].bytes) / (points[i + 1].bytes - points[i - 1].bytes);
    const double expected =
        std::lerp(curve.fitted(points[i - 1].bytes), curve.fitted(points[i + 1].bytes), share);
    news[i] = std::abs(std::log(curve.fitted(points[i].bytes) / expected));
  }
  std::vector<NextSize> all;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const double left = points[i].bytes;
    const double right = points[i + 1].bytes;
    const auto middle = std::llround(std::sqrt(std::max(1.0, left) * right) / 4) * 4;
    if (static_cast<double>(middle) <= left || static_cast<double>(middle) >= right) continue;
    const auto bytes = static_cast<double>(middle);
    const double width = std::log(curve.high(bytes) / curve.low(bytes)) / 2;
    const double gap = std::max(news[i], news[i + 1]) / 2;
    const double doubt = std::hypot(width, gap);
    if (!(doubt >= 0.01)) continue;
    all.push_back({middle, std::expm1(doubt) * 100,
                   gap > width
                       ? fmt::format("the line bends between {:.0f} and {:.0f} B", left, right)
                       : std::string("the interval is wide: more rounds")});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const NextSize& x, const NextSize& y) { return x.doubt_pct > y.doubt_pct; });
  if (all.size() > most) all.resize(most);
  return all;
}

}  // namespace steptime
