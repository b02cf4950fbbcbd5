// Quantities with their units in the type. Simulated time is int64 picoseconds, so sums are exact
// and the same for every compiler; a real number becomes a time in exactly one place, from_seconds.
#pragma once
#include <chrono>
#include <compare>
#include <cstdint>
#include <ratio>
#include <string>
#include <string_view>

namespace steptime {

/// Range +-106 days.
using Duration = std::chrono::duration<std::int64_t, std::pico>;

struct SimClock {
  using duration = Duration;
  using rep = Duration::rep;
  using period = Duration::period;
  using time_point = std::chrono::time_point<SimClock, Duration>;
  static constexpr bool is_steady = true;
};
using Time = SimClock::time_point;

/// Rounds to the nearest picosecond (halves away from zero). Throws InputError for NaN and for
/// values beyond the range.
Duration from_seconds(double seconds);
/// Throws InputError when the sum is beyond the range.
Duration checked_add(Duration x, Duration y);
constexpr double to_seconds(Duration d) {
  return static_cast<double>(d.count()) / 1e12;
}
/// A time that is `factor` times as long; the same for 1.
inline Duration scaled(Duration d, double factor) {
  return factor == 1 ? d : from_seconds(to_seconds(d) * factor);
}
/// The time of which `d` is `factor` times as long.
inline Duration unscaled(Duration d, double factor) {
  return factor == 1 ? d : from_seconds(to_seconds(d) / factor);
}
constexpr Duration since_start(Time t) {
  return t.time_since_epoch();
}

struct Bytes {
  std::int64_t count = 0;
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes x, Bytes y) { return {x.count + y.count}; }
  friend constexpr Bytes operator-(Bytes x, Bytes y) { return {x.count - y.count}; }
  constexpr Bytes& operator+=(Bytes y) { return *this = *this + y; }
};

/// Bytes per second.
struct Bandwidth {
  double bytes_per_second = 0;
  friend constexpr auto operator<=>(Bandwidth, Bandwidth) = default;
};

/// Seconds per byte: the beta and gamma of the alpha-beta-gamma model.
struct TimePerByte {
  double seconds_per_byte = 0;
  friend constexpr auto operator<=>(TimePerByte, TimePerByte) = default;
};

constexpr TimePerByte inverse(Bandwidth b) {
  return {1.0 / b.bytes_per_second};
}
/// Throws as from_seconds().
inline Duration operator*(TimePerByte each, Bytes m) {
  return from_seconds(each.seconds_per_byte * static_cast<double>(m.count));
}

/// Text with a unit to a quantity: "45.26 us", "25 MiB", "1.25 GB/s", "100 Gbps", "0.857 ns/B".
/// SI prefixes are powers of 1000, IEC (Ki, Mi, Gi, Ti) of 1024; b is bit, B is byte. Throws
/// InputError with a message that starts with the quoted text.
template <class Quantity>
Quantity parse_quantity(std::string_view text);
template <>
Duration parse_quantity<Duration>(std::string_view text);
template <>
Bytes parse_quantity<Bytes>(std::string_view text);
template <>
Bandwidth parse_quantity<Bandwidth>(std::string_view text);
template <>
TimePerByte parse_quantity<TimePerByte>(std::string_view text);

/// The unit-carrying text of a quantity, exact to the last digit: parse_quantity gives it back.
std::string format_quantity(Duration d);
std::string format_quantity(Bytes b);
std::string format_quantity(Bandwidth b);
std::string format_quantity(TimePerByte t);

}  // namespace steptime
