#include "sim/drawing/swept_axis.h"

#include "sim/sweeps/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <system_error>
#include <tuple>
#include <utility>

#include <boost/algorithm/string/replace.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

/// A value as the label of a tick: "199.9 Gbps" of "199.89175614271497 Gbps".
std::string label_of(const std::string& cell) {
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  const auto digits = static_cast<std::size_t>(end - cell.data());
  constexpr std::size_t kMostDigits = 6;
  if (error != std::errc{} || digits <= kMostDigits) return cell;
  return fmt::format("{:.4g}{}", number, cell.substr(digits));
}

/// Powers of 2, or from below 1 on of 10, of which there are `most` at most: round numbers where
/// the axis' own are many.
std::vector<double> round_places(const SweptAxis& axis, std::size_t most) {
  const double low = axis.places.front();
  const double high = axis.places.back();
  const double base = low < 1 && high >= 10 * low ? 10 : 2;
  std::vector<double> shown;
  for (int power = 1;; ++power) {
    const double factor = std::pow(base, power);
    const double first = std::ceil(std::log(low) / std::log(factor) - 1e-9);
    std::vector<double> places;
    for (double place = std::pow(factor, first); place <= high; place *= factor)
      places.push_back(place);
    if (!places.empty()) shown = places;
    if (places.size() <= most) break;
  }
  shown.resize(std::min(shown.size(), most));
  return shown;
}

}  // namespace

std::vector<SweptAxis> axes_of(std::span<const ResultRow* const> rows) {
  std::vector<SweptAxis> axes;
  for (const ResultRow* row : rows) {
    const Json params = row->figures.value("params", Json::object());
    for (const auto& [pointer, value] : params.items()) {
      auto axis = std::find_if(axes.begin(), axes.end(),
                               [&name = pointer](const SweptAxis& a) { return a.pointer == name; });
      if (axis == axes.end()) {
        axes.push_back({.pointer = pointer});
        axis = std::prev(axes.end());
      }
      const std::string cell = swept_value(value);
      if (axis->index(cell) < axis->values.size()) continue;
      axis->values.push_back(cell);
      const auto place = place_on_axis(value);
      axis->places.push_back(place.value_or(std::numeric_limits<double>::quiet_NaN()));
      axis->has_units |= place && !value.is_number();
    }
  }
  std::erase_if(axes, [](const SweptAxis& a) { return a.values.size() < 2; });
  for (SweptAxis& axis : axes) {
    axis.has_numbers = std::none_of(axis.places.begin(), axis.places.end(),
                                    [](double place) { return std::isnan(place); });
    std::vector<std::pair<double, std::string>> sorted;
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      sorted.emplace_back(axis.has_numbers ? axis.places[i] : static_cast<double>(i + 1),
                          axis.values[i]);
    }
    if (axis.has_numbers) std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i)
      std::tie(axis.places[i], axis.values[i]) = sorted[i];
  }
  return axes;
}

std::string in_quotes(std::string text) {
  boost::replace_all(text, "'", "''");
  return "'" + text + "'";
}

std::size_t ticks_in(std::size_t room, const SweptAxis& axis) {
  constexpr std::size_t kGap = 3;
  std::size_t longest = 0;
  for (const std::string& value : axis.values)
    longest = std::max(longest, label_of(value).size());
  return std::clamp<std::size_t>(room / (longest + kGap), 1, kMostTicks);
}

std::string ticks(const char* which, const SweptAxis& axis, bool by_place, std::size_t most) {
  const auto place = [&](std::size_t i) {
    if (!by_place) return static_cast<double>(i + 1);
    return axis.is_logarithmic() ? std::log(axis.places[i]) : axis.places[i];
  };
  const std::size_t n = axis.values.size();
  std::vector<std::string> shown;
  const bool has_many = by_place && axis.has_numbers && !axis.has_units && n > most;
  if (has_many && !axis.is_logarithmic()) return fmt::format("set {}tics autofreq\n", which);
  if (has_many) {
    for (const double round : round_places(axis, most))
      shown.push_back(fmt::format("'{0:g}' {0:.17g}", round));
    return fmt::format("set {}tics ({}) noenhanced\n", which, fmt::join(shown, ", "));
  }
  const double apart = (place(n - 1) - place(0)) / static_cast<double>(most) * (1 - 1e-9);
  double next = place(0);
  for (std::size_t i = 0; i < n; ++i) {
    if (place(i) < next) continue;
    shown.push_back(fmt::format("{} {:.17g}", in_quotes(label_of(axis.values[i])),
                                by_place ? axis.places[i] : static_cast<double>(i + 1)));
    next = place(i) + apart;
  }
  return fmt::format("set {}tics ({}) noenhanced\n", which, fmt::join(shown, ", "));
}

std::string logarithmic_ticks(const char* which, double least, double most) {
  if (most / least > 200) return fmt::format("set {}tics autofreq\n", which);
  const std::vector<double> digits =
      most / least > 20 ? std::vector<double>{1, 2, 5} : std::vector<double>{1, 1.5, 2, 3, 5, 7};
  std::vector<std::string> shown;
  for (double decade = std::pow(10, std::floor(std::log10(least))); decade <= most; decade *= 10) {
    for (const double digit : digits) {
      if (const double at = digit * decade; at >= least && at <= most)
        shown.push_back(fmt::format("{:.6g}", at));
    }
  }
  return fmt::format("set {}tics ({})\n", which, fmt::join(shown, ", "));
}

}  // namespace steptime
