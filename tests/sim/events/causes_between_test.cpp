// Is what lies before the parts of a run left out of what they are spent on?
#include "sim/events/causes_between.h"

#include "sim/events/engine.h"

#include <array>
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::seconds;

Time at(std::int64_t second) {
  return Time(seconds(second));
}

//   0    2 3     5  6
//   [ copy ][ sum ][copy]        two shares of the part from 2 s on: (1 + 1) / 2 and 2 / 2 s
TEST(CausesBetween, CountsFromTheBeginningOn) {
  Causes causes;
  Engine engine(&causes);
  const Reason copy = engine.reason("copy", "link");
  const Reason sum = engine.reason("sum", "GPU");
  const When end =
      engine.until(engine.until(engine.until({}, at(3), copy), at(5), sum), at(6), copy);
  const auto list = causes_between(causes, std::array{PathPart{at(2), end}}, 2);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].seconds, 1);
  EXPECT_EQ(list[1].seconds, 1);
  // From 4 s on: 1 s of each; from 5 s on no sum any more.
  EXPECT_EQ(causes_between(causes, std::array{PathPart{at(4), end}}, 1)[0].seconds, 1);
  const auto last = causes_between(causes, std::array{PathPart{at(5), end}}, 1);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].cause, "copy");
}

TEST(CausesBetween, AddsPartsUp) {
  // Of the first part 2 to 3 s, of the second, which began with it, 3 to 7 s.
  Causes causes;
  Engine engine(&causes);
  const When middle = engine.until({}, at(3), engine.reason("copy", "link"));
  const When end = engine.until(middle, at(7), engine.reason("sum", "GPU"));
  const auto list =
      causes_between(causes, std::array{PathPart{at(2), middle}, PathPart{at(3), end}}, 1);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].cause, "sum");
  EXPECT_EQ(list[0].seconds, 4);
  EXPECT_EQ(list[1].seconds, 1);
}

}  // namespace
}  // namespace steptime
