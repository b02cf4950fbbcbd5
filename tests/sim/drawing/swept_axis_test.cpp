#include "sim/drawing/swept_axis.h"

#include "sim/config/json.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// The axis of these values.
SweptAxis axis_of(const std::vector<Json>& values) {
  std::vector<ResultRow> rows;
  for (const Json& value : values)
    rows.push_back({.figures = Json{{"params", Json{{"/a", value}}}}});
  std::vector<const ResultRow*> pointers;
  for (const ResultRow& row : rows)
    pointers.push_back(&row);
  return axes_of(pointers).at(0);
}
SweptAxis numbers(int from, int to) {
  std::vector<Json> values;
  for (int i = from; i <= to; ++i)
    values.emplace_back(i);
  return axis_of(values);
}

TEST(SweptAxis, NumbersStandInTheirOrderWordsAsTheyCome) {
  const SweptAxis quantities = axis_of({"1 ms", "2 us", "3 us"});
  EXPECT_EQ(quantities.values, (std::vector<std::string>{"2 us", "3 us", "1 ms"}));
  EXPECT_TRUE(quantities.has_numbers && quantities.has_units && quantities.is_logarithmic());
  const SweptAxis words = axis_of({"wfbp", "none", "5"});
  EXPECT_EQ(words.values, (std::vector<std::string>{"wfbp", "none", "5"}));
  EXPECT_EQ(words.places, (std::vector<double>{1, 2, 3}));
  EXPECT_FALSE(words.has_numbers || words.is_logarithmic());
}

/// 84 / (8 + 3) = 7 of "100 Gbps", 40 / 11 = 3, and one where there is no room for any.
TEST(SweptAxis, AsManyTicksAsTheirLabelsLeaveRoomFor) {
  const SweptAxis axis = axis_of({"10 Gbps", "25 Gbps", "100 Gbps"});
  EXPECT_EQ(ticks_in(84, axis), 7u);
  EXPECT_EQ(ticks_in(40, axis), 3u);
  EXPECT_EQ(ticks_in(5, axis), 1u);
  EXPECT_EQ(ticks_in(1000, axis), kMostTicks);
}

TEST(SweptAxis, ManyNumbersOnALogarithmicAxisHaveRoundTicks) {
  EXPECT_EQ(ticks("x", numbers(2, 60), true, 7),
            "set xtics ('2' 2, '4' 4, '8' 8, '16' 16, '32' 32) noenhanced\n");
  // 2 to 256 are eight powers of 2, and four of 4.
  EXPECT_EQ(ticks("x", numbers(2, 301), true, 7),
            "set xtics ('4' 4, '16' 16, '64' 64, '256' 256) noenhanced\n");
  EXPECT_EQ(ticks("x", numbers(2, 26), true, 1), "set xtics ('8' 8) noenhanced\n");
  // Fewer than its own values, or below one: powers of ten.
  EXPECT_EQ(ticks("x", axis_of({0.002, 0.004, 0.01, 0.3, 1}), true, 4),
            "set xtics ('0.01' 0.01, '0.1' 0.10000000000000001, '1' 1) noenhanced\n");
  // Few are shown as they are; without a logarithm gnuplot's own are round.
  EXPECT_EQ(ticks("x", numbers(2, 3), true, 7), "set xtics ('2' 2, '3' 3) noenhanced\n");
  EXPECT_EQ(ticks("x", numbers(10, 40), true, 7), "set xtics autofreq\n");
}

TEST(SweptAxis, ALogarithmicAxisHasMoreThanItsPowersOfTen) {
  EXPECT_EQ(logarithmic_ticks("y", 1.8, 63), "set ytics (2, 5, 10, 20, 50)\n");
  EXPECT_EQ(logarithmic_ticks("cb", 2, 400), "set cbtics (2, 5, 10, 20, 50, 100, 200)\n");
  EXPECT_EQ(logarithmic_ticks("cb", 308, 1650), "set cbtics (500, 700, 1000, 1500)\n");
  EXPECT_EQ(logarithmic_ticks("y", 2, 401), "set ytics autofreq\n");
}

TEST(SweptAxis, QuotesAreDoubledForGnuplot) {
  EXPECT_EQ(in_quotes("it's"), "'it''s'");
}

}  // namespace
}  // namespace steptime
