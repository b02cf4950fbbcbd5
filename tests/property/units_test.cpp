// What format_quantity writes, parse_quantity reads back to the last digit.
#include "sim/core/units.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

/// Whole numbers of every magnitude up to `most`, with either sign.
rc::Gen<std::int64_t> any_magnitude(std::int64_t most) {
  return rc::gen::exec([most] {
    const int bits = *rc::gen::inRange(0, 63);
    const auto word = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>());
    const auto number = static_cast<std::int64_t>(word >> (63 - bits) >> 1) % (most + 1);
    return *rc::gen::arbitrary<bool>() ? number : -number;
  });
}

/// Finite doubles of every magnitude, not negative.
rc::Gen<double> any_double() {
  return rc::gen::exec([] {
    const auto word = *rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()) >> 1;
    double value = 0;
    std::memcpy(&value, &word, sizeof value);
    RC_PRE(std::isfinite(value));
    return value;
  });
}

RC_GTEST_PROP(Units, DurationsRoundTrip, ()) {
  const Duration d(*any_magnitude(9'199'999'999'999'000'000));
  RC_ASSERT(parse_quantity<Duration>(format_quantity(d)) == d);
}

RC_GTEST_PROP(Units, SizesRoundTrip, ()) {
  const Bytes b{*any_magnitude(std::int64_t{1} << 53)};
  RC_ASSERT(parse_quantity<Bytes>(format_quantity(b)) == b);
}

RC_GTEST_PROP(Units, BandwidthsRoundTrip, ()) {
  const Bandwidth b{*any_double()};
  RC_ASSERT(parse_quantity<Bandwidth>(format_quantity(b)) == b);
}

RC_GTEST_PROP(Units, TimesPerByteRoundTrip, ()) {
  const TimePerByte t{*any_double()};
  RC_ASSERT(parse_quantity<TimePerByte>(format_quantity(t)) == t);
}

RC_GTEST_PROP(Units, SecondsRoundTripWhileADoubleHoldsThem, ()) {
  // 2^51 ps is 37 minutes: two roundings to 53 bits stay below half a picosecond.
  const Duration d(*any_magnitude(std::int64_t{1} << 51));
  RC_ASSERT(from_seconds(to_seconds(d)) == d);
}

}  // namespace
}  // namespace steptime
