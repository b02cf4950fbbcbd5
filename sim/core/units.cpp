#include "sim/core/units.h"

#include "sim/core/error.h"

#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace steptime {
namespace {

struct Unit {
  std::string_view name;
  double factor;  ///< to the base unit: s, B, B/s or s/B
};

constexpr std::array kTimeUnits{Unit{"h", 3600},  Unit{"min", 60},  Unit{"s", 1},
                                Unit{"ms", 1e-3}, Unit{"us", 1e-6}, Unit{"ns", 1e-9},
                                Unit{"ps", 1e-12}};
constexpr double kKi = 1024;
constexpr std::array kByteUnits{Unit{"B", 1},
                                Unit{"kB", 1e3},
                                Unit{"KB", 1e3},
                                Unit{"MB", 1e6},
                                Unit{"GB", 1e9},
                                Unit{"TB", 1e12},
                                Unit{"KiB", kKi},
                                Unit{"MiB", kKi* kKi},
                                Unit{"GiB", kKi* kKi* kKi},
                                Unit{"TiB", kKi* kKi* kKi* kKi}};
/// Values of a type, such as thresholds that a program counts in elements: "4 Mi float32" is 16
/// MiB.
constexpr std::array kValueTypes{Unit{"bfloat16", 2}, Unit{"float16", 2}, Unit{"float32", 4},
                                 Unit{"float64", 8}};
constexpr std::array kCounts{Unit{"", 1},          Unit{"k", 1e3},           Unit{"K", 1e3},
                             Unit{"M", 1e6},       Unit{"G", 1e9},           Unit{"Ki", kKi},
                             Unit{"Mi", kKi* kKi}, Unit{"Gi", kKi* kKi* kKi}};
constexpr std::array kBandwidthUnits{
    Unit{"B/s", 1},        Unit{"kB/s", 1e3},       Unit{"KB/s", 1e3},
    Unit{"MB/s", 1e6},     Unit{"GB/s", 1e9},       Unit{"TB/s", 1e12},
    Unit{"KiB/s", kKi},    Unit{"MiB/s", kKi* kKi}, Unit{"GiB/s", kKi* kKi* kKi},
    Unit{"bps", 1.0 / 8},  Unit{"kbps", 1e3 / 8},   Unit{"Mbps", 1e6 / 8},
    Unit{"Gbps", 1e9 / 8}, Unit{"Tbps", 1e12 / 8}};
constexpr std::array kTimePerByteUnits{Unit{"s/B", 1}, Unit{"ms/B", 1e-3}, Unit{"us/B", 1e-6},
                                       Unit{"ns/B", 1e-9}, Unit{"ps/B", 1e-12}};

std::string names(std::span<const Unit> units) {
  std::string all;
  for (const Unit& u : units)
    all += (all.empty() ? "" : ", ") + std::string(u.name);
  return all;
}

/// The number of the text in the base unit of `units`; none: it is no such text.
std::optional<double> parsed(std::string_view text, std::span<const Unit> units) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!unit.empty() && unit.front() == ' ')
    unit.remove_prefix(1);
  if (error == std::errc{} && std::isfinite(value)) {
    for (const Unit& u : units) {
      if (u.name == unit) return value * u.factor;
    }
  }
  return std::nullopt;
}

double parse(std::string_view text, std::span<const Unit> units) {
  if (const auto number = parsed(text, units)) return *number;
  throw InputError(fmt::format("\"{}\" is not a number followed by one of {}", text, names(units)));
}

constexpr double kMostPicoseconds = 9.2e18;  // just below 2^63

double finite(double value, std::string_view text) {
  if (std::isfinite(value)) return value;
  throw InputError(fmt::format("\"{}\" is more than a number can hold", text));
}

/// A whole number of a unit in integers, so that what format_quantity wrote comes back exactly.
std::optional<Duration> whole_picoseconds(std::string_view text) {
  constexpr std::int64_t kSecond = 1'000'000'000'000;
  constexpr std::int64_t kPicoseconds[] = {3600 * kSecond, 60 * kSecond, kSecond, kSecond / 1'000,
                                           1'000'000,      1'000,        1};
  static_assert(std::size(kPicoseconds) == kTimeUnits.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!unit.empty() && unit.front() == ' ')
    unit.remove_prefix(1);
  for (std::size_t i = 0; error == std::errc{} && i < kTimeUnits.size(); ++i) {
    std::int64_t ps = 0;
    if (unit != kTimeUnits[i].name || __builtin_mul_overflow(number, kPicoseconds[i], &ps))
      continue;
    if (std::abs(static_cast<double>(ps)) < kMostPicoseconds) return Duration(ps);
  }
  return std::nullopt;
}

}  // namespace

Duration from_seconds(double seconds) {
  const double ps = seconds * 1e12;
  if (!(std::abs(ps) < kMostPicoseconds)) {
    throw RangeError(fmt::format("{} s is beyond the range of simulated time (106 days)", seconds));
  }
  // As std::round, which is a call to the library: halves away from zero; the rest is exact.
  const auto whole = static_cast<std::int64_t>(ps);
  const double rest = ps - static_cast<double>(whole);
  return Duration(whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0));
}

Duration checked_add(Duration x, Duration y) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(x.count(), y.count(), &sum))
    return from_seconds(to_seconds(x) + to_seconds(y));
  return Duration(sum);
}

template <>
Duration parse_quantity<Duration>(std::string_view text) {
  if (const auto exact = whole_picoseconds(text)) return *exact;
  const double seconds = parse(text, kTimeUnits);
  try {
    return from_seconds(seconds);
  } catch (const RangeError&) {
    throw InputError(fmt::format("\"{}\" is beyond the range of simulated time (106 days)", text));
  }
}

namespace {

double parse_bytes(std::string_view text) {
  for (const Unit& type : kValueTypes) {
    if (!text.ends_with(type.name)) continue;
    std::string_view count = text.substr(0, text.size() - type.name.size());
    while (count.ends_with(' '))
      count.remove_suffix(1);
    if (const auto number = parsed(count, kCounts)) return *number * type.factor;
    throw InputError(fmt::format("\"{}\" is not a number of values, as \"4 Mi float32\" is", text));
  }
  return parse(text, kByteUnits);
}

}  // namespace

template <>
Bytes parse_quantity<Bytes>(std::string_view text) {
  const double bytes = parse_bytes(text);
  // "1.005 kB" is 1005 B, although 1.005 has no exact double.
  const double whole = std::round(bytes);
  if (std::abs(bytes - whole) > 4 * std::numeric_limits<double>::epsilon() * std::abs(bytes)) {
    throw InputError(fmt::format("\"{}\" is not a whole number of bytes", text));
  }
  constexpr double kLimit = 0x1p53;  // beyond it a double no longer holds every whole number
  if (std::abs(whole) > kLimit) {
    throw InputError(fmt::format("\"{}\" is more than 2^53 bytes", text));
  }
  return {static_cast<std::int64_t>(whole)};
}

template <>
Bandwidth parse_quantity<Bandwidth>(std::string_view text) {
  return {finite(parse(text, kBandwidthUnits), text)};
}

template <>
TimePerByte parse_quantity<TimePerByte>(std::string_view text) {
  return {finite(parse(text, kTimePerByteUnits), text)};
}

std::string format_quantity(Duration d) {
  struct Scale {
    std::int64_t ps;
    const char* name;
  };
  constexpr std::array kScales{Scale{1'000'000'000'000, "s"}, Scale{1'000'000'000, "ms"},
                               Scale{1'000'000, "us"}, Scale{1'000, "ns"}};
  const std::int64_t ps = d.count();
  if (ps == 0) return "0 s";
  for (const Scale& s : kScales) {
    if (ps % s.ps == 0) return fmt::format("{} {}", ps / s.ps, s.name);
  }
  return fmt::format("{} ps", ps);
}

std::string format_quantity(Bytes b) {
  return fmt::format("{} B", b.count);
}
std::string format_quantity(Bandwidth b) {
  return fmt::format("{} B/s", b.bytes_per_second);
}
std::string format_quantity(TimePerByte t) {
  return fmt::format("{} s/B", t.seconds_per_byte);
}

}  // namespace steptime
