// Does compute whose speed changes know when each part of it is done, and was?
#include "sim/workload/overlap.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration ms(std::int64_t n) {
  return Duration(n * 1'000'000'000);
}

// Alone for 10 ms, five times as slow for 50, in which 10 ms of work are done, then alone again:
// 15 ms of work were done 5 x 5 ms after the first change, 30 are done 10 ms after the second.
TEST(SharedCompute, KnowsWhenEachPartWasDone) {
  SharedCompute compute;
  compute.begin(Time{} + ms(0), ms(100));
  compute.change(Time{} + ms(10), 5);
  compute.change(Time{} + ms(60), 1);
  EXPECT_EQ(compute.when(ms(5)), Time{} + ms(5));
  EXPECT_EQ(compute.when(ms(15)), Time{} + ms(35));
  EXPECT_EQ(compute.when(ms(30)), Time{} + ms(70));
  EXPECT_EQ(compute.end(), Time{} + ms(140));
  compute.begin(Time{} + ms(200), ms(10));
  EXPECT_EQ(compute.when(ms(5)), Time{} + ms(205));
}

}  // namespace
}  // namespace steptime
