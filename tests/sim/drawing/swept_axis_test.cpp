#include "sim/drawing/swept_axis.h"

#include "sim/config/json.h"
#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <optional>
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
  EXPECT_TRUE(quantities.has_numbers && quantities.is_logarithmic());
  EXPECT_EQ(quantities.units, units_with("us"));
  const SweptAxis words = axis_of({"wfbp", "none", "5"});
  EXPECT_EQ(words.values, (std::vector<std::string>{"wfbp", "none", "5"}));
  EXPECT_EQ(words.places, (std::vector<double>{1, 2, 3}));
  EXPECT_FALSE(words.has_numbers || words.is_logarithmic());
  const SweptAxis equal = axis_of({"1 ms", "1000 us"});  // of no length, as numbers
  EXPECT_FALSE(equal.has_numbers);
  EXPECT_EQ(equal.places, (std::vector<double>{1, 2}));
}

/// A run's result names its experiment itself.
TEST(SweptAxis, FilesAreCalledByTheirExperiments) {
  const ResultRow one{.figures = Json{{"config", {{"name", "one"}}}}, .file = "r/x.json"};
  const ResultRow two{.figures = Json::object(), .file = "r/two.jsonl"};
  const ResultRow other{.figures = Json::object(), .file = "s/two.jsonl"};
  EXPECT_FALSE(axis_of_files(std::vector{&two, &two}));
  const auto names = axis_of_files(std::vector{&one, &two, &two});
  ASSERT_TRUE(names);
  EXPECT_EQ(names->name, "experiment");
  EXPECT_EQ(names->labels, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(names->places, (std::vector<double>{1, 2}));
  EXPECT_EQ(value_on(*names, two), "r/two.jsonl");
  // Two are called "two".
  const auto paths = axis_of_files(std::vector{&one, &two, &other});
  ASSERT_TRUE(paths);
  EXPECT_EQ(paths->name, "file");
  EXPECT_EQ(paths->labels, (std::vector<std::string>{"r/x.json", "r/two.jsonl", "s/two.jsonl"}));
}

TEST(SweptAxis, AResultHasAValueOnAnAxisThatItWasSweptOver) {
  const SweptAxis axis = axis_of({"1 ms", "2 us"});
  EXPECT_EQ(value_on(axis, {.figures = Json{{"params", {{"/a", "2 us"}}}}}), "2 us");
  EXPECT_EQ(value_on(axis, {.figures = Json{{"params", {{"/b", "2 us"}}}}}), std::nullopt);
}

TEST(SweptAxis, TextsStayOnOneLine) {
  EXPECT_EQ(in_quotes("it's\none\tline"), "'it''s one line'");
}

/// 84 / (8 + 3) = 7 of "100 Gbps", 40 / 11 = 3, and one where there is no room for any.
TEST(SweptAxis, AsManyTicksAsTheirLabelsLeaveRoomFor) {
  const SweptAxis axis = axis_of({"10 Gbps", "25 Gbps", "100 Gbps"});
  EXPECT_EQ(ticks_in(84, axis, true), 7u);
  EXPECT_EQ(ticks_in(40, axis, true), 3u);
  EXPECT_EQ(ticks_in(5, axis, true), 1u);
  EXPECT_EQ(ticks_in(1000, axis, true), kMostTicks);
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
  // Few are shown as they are; without a logarithm multiples of 1, 2 or 5.
  EXPECT_EQ(ticks("x", numbers(2, 3), true, 7), "set xtics ('2' 2, '3' 3) noenhanced\n");
  EXPECT_EQ(ticks("x", numbers(10, 40), true, 4),
            "set xtics ('10' 10, '20' 20, '30' 30, '40' 40) noenhanced\n");
}

/// JSON has 1000.0 and 1e+20 for two numbers of one axis, a progression 1e+06 us.
TEST(SweptAxis, AllNumbersOfAnAxisAreWrittenAlike) {
  EXPECT_EQ(axis_of({1000.0, 1e9}).labels, (std::vector<std::string>{"1k", "1G"}));
  EXPECT_EQ(axis_of({1000.0, 2000}).labels, (std::vector<std::string>{"1000", "2000"}));
  EXPECT_EQ(axis_of({"1 us", "1000 us", "1e+06 us"}).labels,
            (std::vector<std::string>{"1 us", "1 ms", "1 s"}));
  // As the user wrote them, and words.
  EXPECT_EQ(axis_of({"1 us", "1000 us"}).labels, (std::vector<std::string>{"1 us", "1000 us"}));
  EXPECT_EQ(axis_of({"5", "wfbp"}).labels, (std::vector<std::string>{"5", "wfbp"}));
}

TEST(SweptAxis, ManyQuantitiesHaveRoundTicksWithTheirUnit) {
  std::vector<Json> values;
  for (int i = 0; i < 20; ++i)
    values.emplace_back(std::to_string(0.3 * (1 << i)) + " us");  // 0.3 us to 157 ms
  std::string labels;
  for (const auto& [place, label] : named_places(axis_of(values), 6))
    labels += "[" + label + "]";
  EXPECT_EQ(labels, "[1 us][10 us][100 us][1 ms][10 ms][100 ms]");
}

/// A map has its values at 1, 2, 3, ...: of 1 to 100 the multiples of 20.
TEST(SweptAxis, OfEvenlySpacedPlacesTheRoundOnesAreNamed) {
  EXPECT_EQ(ticks("x", numbers(1, 100), false, 7),
            "set xtics ('20' 20, '40' 40, '60' 60, '80' 80, '100' 100) noenhanced\n");
  // Powers of two are not evenly spaced.
  EXPECT_EQ(ticks("x", axis_of({1, 2, 4, 8, 16, 32}), false, 3),
            "set xtics ('1' 1, '4' 3, '16' 5) noenhanced\n");
}

TEST(SweptAxis, ASingleResultIsOnePlace) {
  const ResultRow row{.figures = Json{{"params", Json{{"/cluster/nodes", 8}, {"/a/type", "b"}}}}};
  const SweptAxis axis = only_axis(row);
  EXPECT_EQ(axis.name, "nodes, a");
  EXPECT_EQ(axis.labels, std::vector<std::string>{"8, b"});
  EXPECT_EQ(message_of<InputError>([] { only_axis({.figures = Json::object()}); }),
            "expected results of a sweep, which have swept values");
}

TEST(SweptAxis, ResultsHaveRoundTicks) {
  EXPECT_EQ(number_ticks("y", 0, 2.1e6),
            "set ytics ('0' 0, '500k' 500000, '1M' 1000000, '1.5M' 1500000, '2M' 2000000) "
            "noenhanced\n");
}

TEST(SweptAxis, ALogarithmicAxisHasMoreThanItsPowersOfTen) {
  EXPECT_EQ(logarithmic_ticks("y", 1.8, 63),
            "set ytics ('2' 2, '5' 5, '10' 10, '20' 20, '50' 50) noenhanced\n");
  EXPECT_EQ(logarithmic_ticks("cb", 308, 1650),
            "set cbtics ('500' 500, '700' 700, '1000' 1000, '1500' 1500) noenhanced\n");
  // Of many the powers of ten, with the multiples between them unnamed.
  EXPECT_EQ(logarithmic_ticks("y", 9, 2000),
            "set ytics ('10' 10, '100' 100, '1000' 1000, '' 9 1, '' 20 1, '' 30 1, '' 40 1, '' 50 "
            "1, '' 60 1, '' 70 1, '' 80 1, '' 90 1, '' 200 1, '' 300 1, '' 400 1, '' 500 1, '' 600 "
            "1, '' 700 1, '' 800 1, '' 900 1, '' 2000 1) noenhanced\n");
  // Each second one of 19, from 1 to 1e18.
  EXPECT_EQ(logarithmic_ticks("y", 1, 1e18).substr(0, 32), "set ytics ('1e0' 1, '1e2' 100, '");
}

TEST(SweptAxis, QuotesAreDoubledForGnuplot) {
  EXPECT_EQ(in_quotes("it's"), "'it''s'");
}

}  // namespace
}  // namespace steptime
