#include "sim/drawing/swept_axis.h"

#include "sim/core/error.h"
#include "sim/sweeps/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include <boost/algorithm/string/replace.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr std::size_t kMostDigits = 6;

/// A value as the label of a tick: "199.9 Gbps" of "199.89175614271497 Gbps".
std::string label_of(const std::string& cell) {
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  const auto digits = static_cast<std::size_t>(end - cell.data());
  if (error != std::errc{} || digits <= kMostDigits) return cell;
  return fmt::format("{:.4g}{}", number, cell.substr(digits));
}

/// All texts are as short as a label has to be, and without an exponent.
bool are_short(const std::vector<std::string>& texts) {
  return std::ranges::all_of(texts, [](const std::string& text) {
    double number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
    const std::string_view digits(text.data(), end);
    return digits.size() <= kMostDigits && digits.find('e') == std::string_view::npos;
  });
}

/// The units of all values; null where they are none, or of several sorts.
const AxisUnits* common_units(const std::vector<std::string>& units) {
  if (std::ranges::all_of(units, [](const std::string& unit) { return unit.empty(); }))
    return &bare_numbers();
  const AxisUnits* const first = units_with(units.front());
  const bool is_one = std::ranges::all_of(
      units, [&](const std::string& unit) { return units_with(unit) == first; });
  return is_one ? first : nullptr;
}

std::vector<std::string> labels_of(const SweptAxis& axis) {
  if (axis.units == &bare_numbers()) return written_alike(axis.places);
  if (axis.units != nullptr && !are_short(axis.values))
    return written_alike(axis.places, *axis.units);
  std::vector<std::string> labels;
  for (const std::string& value : axis.values)
    labels.push_back(axis.has_numbers ? label_of(value) : value);
  return labels;
}

std::vector<NamedPlace> named_alike(const std::vector<double>& places, const AxisUnits& units) {
  const std::vector<std::string> labels =
      &units == &bare_numbers() ? written_alike(places) : written_alike(places, units);
  std::vector<NamedPlace> named;
  for (std::size_t i = 0; i < places.size(); ++i)
    named.emplace_back(places[i], labels[i]);
  return named;
}

/// `'1 us' 1e-06`, of each place.
std::vector<std::string> ticks_at(const std::vector<NamedPlace>& places) {
  std::vector<std::string> shown;
  shown.reserve(places.size());
  for (const auto& [place, label] : places)
    shown.push_back(fmt::format("{} {:.17g}", in_quotes(label), place));
  return shown;
}
std::vector<std::string> ticks_at(const std::vector<double>& places) {
  return ticks_at(named_alike(places, bare_numbers()));
}

/// At most `most` of the axis' own values, as far from each other as labels need.
std::vector<NamedPlace> own_places(const SweptAxis& axis, bool by_place, std::size_t most) {
  const auto place = [&](std::size_t i) {
    if (!by_place) return static_cast<double>(i + 1);
    return axis.is_logarithmic() ? std::log(axis.places[i]) : axis.places[i];
  };
  const std::size_t n = axis.values.size();
  const double apart = (place(n - 1) - place(0)) / static_cast<double>(most) * (1 - 1e-9);
  std::vector<NamedPlace> named;
  double next = place(0);
  for (std::size_t i = 0; i < n; ++i) {
    if (place(i) < next) continue;
    named.emplace_back(by_place ? axis.places[i] : static_cast<double>(i + 1), axis.labels[i]);
    next = place(i) + apart;
  }
  return named;
}

std::string tick_command(const char* which, const std::vector<std::string>& shown) {
  return fmt::format("set {}tics ({}) noenhanced\n", which, fmt::join(shown, ", "));
}

/// Of values that are evenly apart those that are round, by their number; else none.
std::vector<std::size_t> round_values(const SweptAxis& axis, std::size_t most) {
  if (axis.units == nullptr || axis.places.size() < 2) return {};
  const std::vector<double>& places = axis.places;
  const double step = places[1] - places[0];
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (std::abs(places[i] - places[i - 1] - step) > 1e-6 * step) return {};
  }
  std::vector<std::size_t> found;
  for (const double round : round_places(places.front(), places.back(), most, *axis.units)) {
    const double at = (round - places.front()) / step;
    if (std::abs(at - std::round(at)) > 1e-6) return {};
    found.push_back(static_cast<std::size_t>(std::round(at)));
  }
  return found;
}

/// `sweep` and `pin` call their files after experiments; what `run` writes has its config.
std::string experiment_of(const ResultRow& row) {
  const Json config = row.figures.value("config", Json::object());
  if (config.is_object() && config.contains("name") && config["name"].is_string())
    return config["name"].get<std::string>();
  return std::filesystem::path(row.file).stem().string();
}

}  // namespace

std::vector<SweptAxis> axes_of(std::span<const ResultRow* const> rows) {
  std::vector<SweptAxis> axes;
  std::map<std::string, std::vector<std::string>> units;
  for (const ResultRow* row : rows) {
    const Json params = row->figures.value("params", Json::object());
    for (const auto& [pointer, value] : params.items()) {
      auto axis = std::find_if(axes.begin(), axes.end(),
                               [&name = pointer](const SweptAxis& a) { return a.pointer == name; });
      if (axis == axes.end()) {
        axes.push_back({.pointer = pointer, .name = swept_name(pointer)});
        axis = std::prev(axes.end());
      }
      const std::string cell = swept_value(value);
      if (axis->index(cell) < axis->values.size()) continue;
      axis->values.push_back(cell);
      const auto place = place_on_axis(value);
      axis->places.push_back(place.value_or(std::numeric_limits<double>::quiet_NaN()));
      units[pointer].push_back(unit_on_axis(value));
    }
  }
  std::erase_if(axes, [](const SweptAxis& a) { return a.values.size() < 2; });
  for (SweptAxis& axis : axes) {
    axis.has_numbers = std::none_of(axis.places.begin(), axis.places.end(),
                                    [](double place) { return std::isnan(place); }) &&
                       std::set(axis.places.begin(), axis.places.end()).size() > 1;
    std::vector<std::pair<double, std::string>> sorted;
    for (std::size_t i = 0; i < axis.values.size(); ++i) {
      sorted.emplace_back(axis.has_numbers ? axis.places[i] : static_cast<double>(i + 1),
                          axis.values[i]);
    }
    if (axis.has_numbers) std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i)
      std::tie(axis.places[i], axis.values[i]) = sorted[i];
    if (axis.has_numbers) axis.units = common_units(units[axis.pointer]);
    axis.labels = labels_of(axis);
  }
  return axes;
}

std::optional<SweptAxis> axis_of_files(std::span<const ResultRow* const> rows) {
  SweptAxis axis{.name = "experiment", .is_of_files = true};
  for (const ResultRow* row : rows) {
    if (axis.index(row->file) < axis.values.size()) continue;
    axis.values.push_back(row->file);
    axis.labels.push_back(experiment_of(*row));
    axis.places.push_back(static_cast<double>(axis.values.size()));
  }
  if (axis.values.size() < 2) return std::nullopt;
  if (std::set(axis.labels.begin(), axis.labels.end()).size() < axis.labels.size()) {
    axis.name = "file";
    axis.labels = axis.values;
  }
  return axis;
}

std::optional<std::string> value_on(const SweptAxis& axis, const ResultRow& row) {
  if (axis.is_of_files) return row.file;
  const Json params = row.figures.value("params", Json::object());
  if (!params.contains(axis.pointer)) return std::nullopt;
  return swept_value(params[axis.pointer]);
}

SweptAxis only_axis(const ResultRow& row) {
  const Json params = row.figures.value("params", Json::object());
  if (params.empty()) throw InputError("expected results of a sweep, which have swept values");
  SweptAxis axis{.values = {""}, .places = {1}};
  for (const auto& [pointer, value] : params.items()) {
    const char* const comma = axis.name.empty() ? "" : ", ";
    axis.name += comma + swept_name(pointer);
    axis.values.front() += comma + swept_value(value);
  }
  axis.labels = axis.values;
  return axis;
}

std::string in_quotes(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  boost::replace_all(text, "'", "''");
  return "'" + text + "'";
}

std::size_t ticks_in(std::size_t room, const SweptAxis& axis, bool by_place) {
  constexpr std::size_t kGap = 3;
  constexpr std::size_t kRound = 8;  // characters of a round quantity
  std::size_t longest = 0;
  for (const std::string& label : axis.labels)
    longest = std::max(longest, label.size());
  if (by_place && axis.units != nullptr && axis.values.size() > kMostTicks)
    longest = std::min(longest, kRound);
  return std::clamp<std::size_t>(room / (longest + kGap), 1, kMostTicks);
}

std::vector<NamedPlace> named_places(const SweptAxis& axis, std::size_t most) {
  if (axis.values.size() <= most || axis.units == nullptr) return own_places(axis, true, most);
  const auto& round = axis.is_logarithmic() ? round_powers : round_places;
  return named_alike(round(axis.places.front(), axis.places.back(), most, *axis.units),
                     *axis.units);
}

std::string ticks(const char* which, const SweptAxis& axis, bool by_place, std::size_t most) {
  if (by_place) return tick_command(which, ticks_at(named_places(axis, most)));
  std::vector<NamedPlace> named;
  if (axis.values.size() > most) {
    for (const std::size_t i : round_values(axis, most))
      named.emplace_back(static_cast<double>(i + 1), axis.labels[i]);
  }
  return tick_command(which, ticks_at(named.empty() ? own_places(axis, false, most) : named));
}

std::string number_ticks(const char* which, double low, double high) {
  return tick_command(which, ticks_at(round_places(low, high, kMostTicks + 1, bare_numbers())));
}

std::string logarithmic_ticks(const char* which, double least, double most) {
  const auto multiples = [&](const std::vector<double>& digits) {
    std::vector<double> places;
    for (double decade = std::floor(std::log10(least)); std::pow(10, decade) <= most; ++decade) {
      for (const double digit : digits) {
        const double at = digit * std::pow(10, decade);
        if (at >= least && at <= most) places.push_back(at);
      }
    }
    return places;
  };
  const double ratio = most / least;
  if (ratio <= 20) return tick_command(which, ticks_at(multiples({1, 1.5, 2, 3, 5, 7})));
  if (ratio <= 200) return tick_command(which, ticks_at(multiples({1, 2, 5})));
  std::vector<double> decades = multiples({1});
  constexpr std::size_t kMostDecades = 10;
  std::vector<std::string> unnamed;
  if (decades.size() <= kMostDecades) {
    for (const double at : multiples({2, 3, 4, 5, 6, 7, 8, 9}))
      unnamed.push_back(fmt::format("'' {:.17g} 1", at));
  }
  const std::size_t every = decades.size() / kMostDecades + 1;
  std::vector<double> named;
  for (std::size_t i = 0; i < decades.size(); i += every)
    named.push_back(decades[i]);
  std::vector<std::string> shown = ticks_at(named);
  shown.insert(shown.end(), unnamed.begin(), unnamed.end());
  return tick_command(which, shown);
}

}  // namespace steptime
