#include "sim/drawing/axis_numbers.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr double kKi = 1024;
/// So that rounding takes no place away: a share of a step between two places.
constexpr double kSlack = 1e-9;

const std::vector<AxisUnits>& all_units() {
  static const std::vector<AxisUnits> all{
      {{{1e-12, "ps"}, {1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}}},
      {{{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}},
      {{{1, "B"}, {kKi, "KiB"}, {kKi * kKi, "MiB"}, {kKi * kKi * kKi, "GiB"}}, true},
      {{{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}}},
      {{{0.125, "bps"}, {125, "kbps"}, {125e3, "Mbps"}, {125e6, "Gbps"}, {125e9, "Tbps"}}},
      {{{1e-12, "ps/B"}, {1e-9, "ns/B"}, {1e-6, "us/B"}, {1e-3, "ms/B"}, {1, "s/B"}}}};
  return all;
}

/// With `digits` of them: "1.5M", "2 ms".
std::string prefixed(double place, const AxisUnits& units, int digits) {
  if (place == 0) return "0";
  auto unit = units.units.begin();
  while (std::next(unit) != units.units.end() &&
         std::abs(place) >= std::next(unit)->factor * (1 - kSlack))
    ++unit;
  const double number = place / unit->factor;
  const int whole = static_cast<int>(std::floor(std::log10(std::abs(number)))) + 1;
  const char* const gap = units.units.front().name.empty() ? "" : " ";
  return fmt::format("{:.{}g}{}{}", number, std::max(digits, whole), gap, unit->name);
}

/// "1e-6", "2.5e9".
std::string with_exponent(double number, int digits) {
  if (number == 0) return "0";
  const std::string text = fmt::format("{:.{}e}", number, digits - 1);
  std::string mantissa = text.substr(0, text.find('e'));
  if (mantissa.find('.') != std::string::npos) {
    mantissa.resize(mantissa.find_last_not_of('0') + 1);
    if (mantissa.ends_with('.')) mantissa.pop_back();
  }
  return fmt::format("{}e{}", mantissa, std::stoi(text.substr(text.find('e') + 1)));
}

/// What `write` makes of each, with four digits or as many more as tell all of them apart.
template <class Write>
std::vector<std::string> told_apart(std::span<const double> numbers, Write&& write) {
  const std::set<double> different(numbers.begin(), numbers.end());
  std::vector<std::string> texts;
  for (int digits = 4; digits <= 17; ++digits) {
    texts.clear();
    for (const double number : numbers)
      texts.push_back(write(number, digits));
    if (std::set<std::string>(texts.begin(), texts.end()).size() == different.size()) break;
  }
  return texts;
}

}  // namespace

const AxisUnits& bare_numbers() {
  static const AxisUnits bare{{{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}}};
  return bare;
}

const AxisUnits* units_with(std::string_view unit) {
  const auto found = std::ranges::find_if(all_units(), [&](const AxisUnits& each) {
    return std::ranges::any_of(each.units, [&](const auto& u) { return u.name == unit; });
  });
  return found == all_units().end() ? nullptr : &*found;
}

std::vector<std::string> written_alike(std::span<const double> numbers) {
  double least = INFINITY;
  double most = 0;
  for (const double number : numbers) {
    if (number != 0) least = std::min(least, std::abs(number));
    most = std::max(most, std::abs(number));
  }
  if (most < 1e6 && least >= 1e-4) {
    return told_apart(numbers, [](double number, int digits) {
      return fmt::format("{:.{}g}", number, std::max(digits, 6));
    });
  }
  if (least >= 1 && most < 1e15) {
    return told_apart(numbers, [](double number, int digits) {
      return prefixed(number, bare_numbers(), digits);
    });
  }
  return told_apart(numbers, with_exponent);
}

std::vector<std::string> written_alike(std::span<const double> places, const AxisUnits& units) {
  return told_apart(places,
                    [&](double place, int digits) { return prefixed(place, units, digits); });
}

std::vector<double> round_places(double low, double high, std::size_t most,
                                 const AxisUnits& units) {
  const double one = units.units.front().factor;
  const double range = (high - low) / one;
  if (!(range > 0) || most < 1) return {low};
  // The first step that is not too small for as many.
  double step = 0;
  const double least = range / static_cast<double>(most);
  const double base = units.is_binary ? 2 : 10;
  const double decade = std::pow(base, std::floor(std::log(least) / std::log(base)));
  std::vector<double> places;
  for (const double factor : {1, 2, 5, 10, 20, 50}) {
    if (units.is_binary && factor == 5) continue;
    step = decade * factor * one;
    places.clear();
    const double first = std::ceil(low / step - kSlack);
    for (double k = first; k * step <= high + kSlack * step; ++k)
      places.push_back(k * step + 0.);  // no -0
    if (places.size() <= most) break;
  }
  return places;
}

std::vector<double> round_powers(double low, double high, std::size_t most,
                                 const AxisUnits& units) {
  constexpr double kMostWhole = 1e5;  // from which on powers of two are no round numbers
  const double one = units.units.front().factor;
  const bool is_bare = units.units.front().name.empty();
  const bool is_binary = units.is_binary || (is_bare && low >= 1 && high < kMostWhole);
  const double base = is_binary ? 2 : 10;
  const auto from = [&](double power, std::span<const double> factors) {
    const double each = std::pow(base, power);
    std::vector<double> places;
    // From one power below on, whose multiples may lie above `low`.
    double exponent = std::floor(std::log(low / one) / std::log(each) - kSlack);
    for (;; ++exponent) {
      for (const double factor : factors) {
        const double place = factor * std::pow(each, exponent) * one;
        if (place > high * (1 + kSlack)) return places;
        if (place >= low * (1 - kSlack)) places.push_back(place);
      }
    }
  };
  std::vector<double> shown;
  if (base == 10) {
    constexpr double kFactors[] = {1, 2, 5};
    shown = from(1, kFactors);
    if (shown.size() <= most) return shown;
  }
  constexpr double kOne[] = {1};
  for (int power = 1;; ++power) {
    const std::vector<double> places = from(power, kOne);
    if (!places.empty()) shown = places;
    if (places.size() <= most) break;
  }
  shown.resize(std::min(shown.size(), most));
  return shown;
}

}  // namespace steptime
