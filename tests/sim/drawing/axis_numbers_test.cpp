#include "sim/drawing/axis_numbers.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Texts = std::vector<std::string>;
using Places = std::vector<double>;

Texts written(const Places& numbers) {
  return written_alike(numbers);
}
Texts written(const Places& places, const char* unit) {
  return written_alike(places, *units_with(unit));
}

/// In full up to six digits; with a prefix where one has more; with an exponent where one is small.
TEST(WrittenAlike, NumbersOfAnAxisLookAlike) {
  EXPECT_EQ(written({0.001, 1, 1000, 262144}), (Texts{"0.001", "1", "1000", "262144"}));
  EXPECT_EQ(written({0, 1000, 1.5e4, 1e9}), (Texts{"0", "1k", "15k", "1G"}));
  EXPECT_EQ(written({1e-6, 0.02, 1e9}), (Texts{"1e-6", "2e-2", "1e9"}));
  EXPECT_EQ(written({2.5e15, 1e18}), (Texts{"2.5e15", "1e18"}));
}

TEST(WrittenAlike, AsManyDigitsAsTellThemApart) {
  EXPECT_EQ(written({1000001, 1000002}), (Texts{"1.000001M", "1.000002M"}));
  EXPECT_EQ(written({1.00000001, 1.00000002}), (Texts{"1.00000001", "1.00000002"}));
}

/// A Gbps is an eighth of 1e9 B/s.
TEST(WrittenAlike, QuantitiesHaveTheUnitThatFits) {
  EXPECT_EQ(written({1e-6, 0.00145, 2, 20000}, "us"), (Texts{"1 us", "1.45 ms", "2 s", "20000 s"}));
  EXPECT_EQ(written({12.5e6, 125e6, 125e9}, "Gbps"), (Texts{"100 Mbps", "1 Gbps", "1 Tbps"}));
  EXPECT_EQ(written({512, 65536, 1 << 20}, "KiB"), (Texts{"512 B", "64 KiB", "1 MiB"}));
  EXPECT_EQ(units_with("h"), nullptr);
  EXPECT_EQ(units_with("Mi float32"), nullptr);
}

TEST(RoundPlaces, AreMultiplesOfOneTwoOrFive) {
  EXPECT_EQ(round_places(0, 1261, 8, bare_numbers()), (Places{0, 200, 400, 600, 800, 1000, 1200}));
  EXPECT_EQ(round_places(10, 40, 7, bare_numbers()), (Places{10, 15, 20, 25, 30, 35, 40}));
  EXPECT_EQ(round_places(0, 0.3, 4, bare_numbers()).size(), 4U);  // 0, 0.1, 0.2, 0.3
  EXPECT_EQ(round_places(3, 3, 7, bare_numbers()), Places{3});
  // 1 to 30 Gbps in steps of 5, of 125e6 B/s each; 1 to 30 KiB in steps of 8.
  EXPECT_EQ(round_places(125e6, 30 * 125e6, 7, *units_with("Gbps")),
            (Places{625e6, 1250e6, 1875e6, 2500e6, 3125e6, 3750e6}));
  EXPECT_EQ(round_places(1024, 30 * 1024, 4, *units_with("KiB")), (Places{8192, 16384, 24576}));
}

TEST(RoundPowers, AreAsManyAsThereIsRoomFor) {
  EXPECT_EQ(written(round_powers(125e6, 30 * 125e6, 7, *units_with("Gbps")), "Gbps"),
            (Texts{"1 Gbps", "2 Gbps", "5 Gbps", "10 Gbps", "20 Gbps"}));
  EXPECT_EQ(written(round_powers(1e-6, 2, 7, *units_with("us")), "us"),
            (Texts{"1 us", "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s"}));
  EXPECT_EQ(written(round_powers(1e-6, 2, 4, *units_with("us")), "us"),
            (Texts{"1 us", "100 us", "10 ms", "1 s"}));
  EXPECT_EQ(written(round_powers(1024, 1 << 24, 8, *units_with("KiB")), "KiB"),
            (Texts{"1 KiB", "4 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB", "4 MiB", "16 MiB"}));
  EXPECT_EQ(written(round_powers(1, 1e12, 7, bare_numbers())),
            (Texts{"1", "100", "10k", "1M", "100M", "10G", "1T"}));
}

}  // namespace
}  // namespace steptime
