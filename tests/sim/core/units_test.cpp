#include "sim/core/units.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// Must not compile: sums of unlike things, and numbers that lost their unit.
template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};
static_assert(Addable<Time, Duration> && Addable<Duration, Duration> && Addable<Bytes, Bytes>);
static_assert(!Addable<Time, Time>);
static_assert(!Addable<Bytes, Duration> && !Addable<Duration, Bytes>);
static_assert(!Addable<Bytes, int> && !Addable<Duration, int> && !Addable<Duration, double>);
static_assert(!Addable<Bandwidth, Bandwidth> && !Addable<TimePerByte, TimePerByte>);
static_assert(!Comparable<Bytes, Duration> && !Comparable<Bandwidth, TimePerByte>);
static_assert(!std::is_constructible_v<Duration, double>, "from_seconds is the only way");
static_assert(!std::is_convertible_v<double, Duration> && !std::is_convertible_v<int, Duration>);
static_assert(!std::is_convertible_v<Duration, Time> && !std::is_convertible_v<Duration, double>);
static_assert(!std::is_convertible_v<std::int64_t, Bytes> && !std::is_convertible_v<int, Bytes>);
static_assert(!std::is_convertible_v<double, Bandwidth>);
static_assert(!std::is_convertible_v<double, TimePerByte>);

constexpr Duration kPs{1};
constexpr std::int64_t kSecond = 1'000'000'000'000;  // ps

TEST(Units, TimesParse) {
  EXPECT_EQ(parse_quantity<Duration>("1 s"), Duration(kSecond));
  EXPECT_EQ(parse_quantity<Duration>("45.26 us"), Duration(45'260'000));
  EXPECT_EQ(parse_quantity<Duration>("0.001 ms"), Duration(1'000'000));
  EXPECT_EQ(parse_quantity<Duration>("7ns"), Duration(7'000));
  EXPECT_EQ(parse_quantity<Duration>("3   ps"), Duration(3));
  EXPECT_EQ(parse_quantity<Duration>("1e-6 s"), Duration(1'000'000));
  EXPECT_EQ(parse_quantity<Duration>("-2 ps"), Duration(-2));
  EXPECT_EQ(parse_quantity<Duration>("0 s"), Duration(0));
}

TEST(Units, BytesMayBeCountedInValues) {
  EXPECT_EQ(parse_quantity<Bytes>("7 float32").count, 7 * 4);
  EXPECT_EQ(parse_quantity<Bytes>("4Mi float32").count, 4 * 1024 * 1024 * 4);
  EXPECT_EQ(parse_quantity<Bytes>("1.5 k float64").count, 1500 * 8);
  EXPECT_EQ(parse_quantity<Bytes>("2 M bfloat16").count, 2'000'000 * 2);
  EXPECT_EQ(parse_quantity<Bytes>("3 float16").count, 3 * 2);
  EXPECT_EQ(message_of<InputError>([] { parse_quantity<Bytes>("x float32"); }),
            "\"x float32\" is not a number of values, as \"4 Mi float32\" is");
}

TEST(Units, SiIs1000AndIecIs1024) {
  EXPECT_EQ(parse_quantity<Bytes>("3 B").count, 3);
  EXPECT_EQ(parse_quantity<Bytes>("1 kB").count, 1'000);
  EXPECT_EQ(parse_quantity<Bytes>("1 KB").count, 1'000);
  EXPECT_EQ(parse_quantity<Bytes>("2 MB").count, 2'000'000);
  EXPECT_EQ(parse_quantity<Bytes>("1 GB").count, 1'000'000'000);
  EXPECT_EQ(parse_quantity<Bytes>("1 TB").count, 1'000'000'000'000);
  EXPECT_EQ(parse_quantity<Bytes>("1.5 KiB").count, 1'536);
  EXPECT_EQ(parse_quantity<Bytes>("25 MiB").count, 25 * 1'048'576);
  EXPECT_EQ(parse_quantity<Bytes>("1 GiB").count, 1'073'741'824);
  EXPECT_EQ(parse_quantity<Bytes>("1 TiB").count, 1'099'511'627'776);
}

TEST(Units, ABitIsAnEighthOfAByte) {
  EXPECT_EQ(parse_quantity<Bandwidth>("100 Gbps"), Bandwidth{12.5e9});
  EXPECT_EQ(parse_quantity<Bandwidth>("8 bps"), Bandwidth{1});
  EXPECT_EQ(parse_quantity<Bandwidth>("1.25 GB/s"), Bandwidth{1.25e9});
  EXPECT_EQ(parse_quantity<Bandwidth>("1 GiB/s"), Bandwidth{1073741824.0});
  EXPECT_EQ(parse_quantity<Bandwidth>("1006632960 B/s"), Bandwidth{1006632960.0});
}

TEST(Units, TimesPerByteParse) {
  EXPECT_EQ(parse_quantity<TimePerByte>("2.5 ns/B"), TimePerByte{2.5 * 1e-9});
  EXPECT_EQ(parse_quantity<TimePerByte>("0 s/B"), TimePerByte{0});
  EXPECT_EQ(parse_quantity<TimePerByte>("857 ps/B"), TimePerByte{857 * 1e-12});
  EXPECT_EQ(inverse(Bandwidth{4}), TimePerByte{0.25});
}

template <class Quantity>
std::string parse_error(const std::string& text) {
  return message_of<InputError>([&] { parse_quantity<Quantity>(text); });
}

TEST(Units, TextWithoutAKnownUnitIsRefused) {
  EXPECT_EQ(parse_error<Duration>("5"),
            "\"5\" is not a number followed by one of h, min, s, ms, us, ns, ps");
  for (const char* text : {"", "s", "us 5", "5 Min", "5 US", "5 us ", " 5 us", "5 us us", "+5 us",
                           "0x5 us", "nan s", "inf s", "1e400 s", "5,0 us", "5 MB"}) {
    EXPECT_EQ(parse_error<Duration>(text),
              '"' + std::string(text) +
                  "\" is not a number followed by one of h, min, s, ms, us, ns, ps");
  }
  EXPECT_EQ(parse_error<Bytes>("5 mb"),
            "\"5 mb\" is not a number followed by one of B, kB, KB, MB, GB, TB, KiB, MiB, GiB, "
            "TiB");
  EXPECT_EQ(parse_error<Bandwidth>("5 GB"),
            "\"5 GB\" is not a number followed by one of B/s, kB/s, KB/s, MB/s, GB/s, TB/s, KiB/s, "
            "MiB/s, GiB/s, bps, kbps, Mbps, Gbps, Tbps");
  EXPECT_EQ(parse_error<TimePerByte>("5 ns"),
            "\"5 ns\" is not a number followed by one of s/B, ms/B, us/B, ns/B, ps/B");
}

TEST(Units, ATimeEndsWhereInt64PicosecondsEnd) {
  // 2^63 ps = 9223372 s; the last whole second inside the limit of 9.2e18 ps is 9199999 s.
  EXPECT_EQ(parse_quantity<Duration>("9199999 s"), Duration(9'199'999 * kSecond));
  EXPECT_EQ(parse_error<Duration>("9200000 s"),
            "\"9200000 s\" is beyond the range of simulated time (106 days)");
  EXPECT_EQ(parse_error<Duration>("-1e300 s"),
            "\"-1e300 s\" is beyond the range of simulated time (106 days)");
}

TEST(Units, ASizeIsAWholeNumberOfBytesUpTo2To53) {
  EXPECT_EQ(parse_error<Bytes>("1.5 B"), "\"1.5 B\" is not a whole number of bytes");
  EXPECT_EQ(parse_error<Bytes>("0.1 KiB"), "\"0.1 KiB\" is not a whole number of bytes");
  EXPECT_EQ(parse_quantity<Bytes>("9007199254740992 B").count, std::int64_t{1} << 53);
  EXPECT_EQ(parse_error<Bytes>("9007199254740994 B"),
            "\"9007199254740994 B\" is more than 2^53 bytes");
  EXPECT_EQ(parse_error<Bytes>("1e308 TB"), "\"1e308 TB\" is more than 2^53 bytes");
}

TEST(Units, AWholeNumberOfBytesMayBeWrittenWithAPrefix) {
  // In binary floating point 1.005 * 1e3 is 1004.9999999999999.
  EXPECT_EQ(parse_quantity<Bytes>("1.005 kB").count, 1'005);
  EXPECT_EQ(parse_quantity<Bytes>("1.001001 MB").count, 1'001'001);
  EXPECT_EQ(parse_quantity<Bytes>("4.000000001 GB").count, 4'000'000'001);
}

TEST(Units, ABandwidthBeyondADoubleIsRefused) {
  EXPECT_THROW(parse_quantity<Bandwidth>("1e308 TB/s"), InputError);
}

TEST(Units, FromSecondsRoundsToTheNearestPicosecond) {
  EXPECT_EQ(from_seconds(0.49e-12), Duration(0));
  EXPECT_EQ(from_seconds(0.51e-12), kPs);
  EXPECT_EQ(from_seconds(1.5 / 1e12), 2 * kPs);  // halves away from zero
  EXPECT_EQ(from_seconds(-1.5 / 1e12), -2 * kPs);
  EXPECT_EQ(from_seconds(0.1), Duration(kSecond / 10));
  EXPECT_EQ(to_seconds(Duration(250'000'000'000)), 0.25);
  EXPECT_EQ(since_start(Time(Duration(7))), Duration(7));
}

TEST(Units, FromSecondsRefusesWhatIsNoTime) {
  EXPECT_EQ(message_of<InputError>([] { from_seconds(1e7); }),
            "10000000 s is beyond the range of simulated time (106 days)");
  EXPECT_THROW(from_seconds(std::numeric_limits<double>::quiet_NaN()), InputError);
  EXPECT_THROW(from_seconds(std::numeric_limits<double>::infinity()), InputError);
  EXPECT_THROW(from_seconds(-std::numeric_limits<double>::infinity()), InputError);
}

TEST(Units, FormatUsesTheLargestUnitThatLeavesAWholeNumber) {
  EXPECT_EQ(format_quantity(Duration(0)), "0 s");
  EXPECT_EQ(format_quantity(Duration(3 * kSecond)), "3 s");
  EXPECT_EQ(format_quantity(Duration(45'250'000)), "45250 ns");
  EXPECT_EQ(format_quantity(Duration(5'000'000)), "5 us");
  EXPECT_EQ(format_quantity(Duration(7'000'000'000)), "7 ms");
  EXPECT_EQ(format_quantity(Duration(-1)), "-1 ps");
  EXPECT_EQ(format_quantity(Bytes{1'048'576}), "1048576 B");
  EXPECT_EQ(format_quantity(Bandwidth{1006632960}), "1006632960 B/s");
  EXPECT_EQ(format_quantity(TimePerByte{2.5e-9}), "2.5e-09 s/B");
}

TEST(Units, WhatFormatWritesParseReads) {
  // 2^53 + 1 is the first whole number that a double does not hold.
  for (const std::int64_t ps :
       {std::int64_t{1}, std::int64_t{999'999'999'999}, kSecond + 1, (std::int64_t{1} << 53) + 1,
        std::int64_t{9'199'999'999'999'000'001}, std::int64_t{-9'199'999'999'999'000'001}}) {
    const std::string text = format_quantity(Duration(ps));
    EXPECT_EQ(parse_quantity<Duration>(text), Duration(ps)) << text;
  }
}

TEST(Units, BytesAdd) {
  Bytes sum{40};
  sum += Bytes{2};
  EXPECT_EQ(sum, Bytes{42});
  EXPECT_EQ(sum - Bytes{2}, Bytes{40});
  EXPECT_LT(Bytes{1}, Bytes{2});
}

}  // namespace
}  // namespace steptime
