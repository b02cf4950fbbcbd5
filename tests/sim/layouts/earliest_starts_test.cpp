#include "sim/layouts/earliest_starts.h"

#include "tests/support/layouts.h"

#include <memory>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::optional<LayoutTimes> earliest_starts_of(const LayoutPlan& plan) {
  return earliest_starts(plan, StepPasses(plan));
}

// 1f1b: (m + p - 1)(F + B) = (8 + 4 - 1) x 40.
TEST(EarliestStarts, APipelineTakesItsClosedForm) {
  const auto times = earliest_starts_of(
      plan_of({.degrees = {1, 1, 1, 4}, .micro_batches = 8}, work_of_blocks(4, {10, 20, 10})));
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->step.count(), 440);
}

// The same, without what its ranks hold.
TEST(EarliestStarts, AStepsTimeAloneIsThatOfTheStep) {
  const LayoutPlan plan =
      plan_of({.degrees = {1, 1, 1, 4}, .micro_batches = 8}, work_of_blocks(4, {10, 20, 10}));
  const auto time = earliest_step(plan, StepPasses(plan));
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(time->count(), 440);
}

/// Two replicas of one place, on a node each: a ring of two takes 1 B of gradients 1 ps.
TestLayout two_replicas(std::int32_t places) {
  Cluster cluster;
  cluster.nodes = 2 * places;
  cluster.network = {{}, {1e12}};
  return {.degrees = {1, 1, 2, places},
          .cluster = std::make_shared<const Cluster>(std::move(cluster))};
}

// Of two layers of F 10, I 20 and W 10, the second's 100 B of gradients are there at 20 + 30 = 50
// and take 100; the first's, there at 80, are summed from 150 to 250.
TEST(EarliestStarts, KnowsSumsBesideTheBackwardPass) {
  const LayoutPlan plan = plan_of(two_replicas(1), work_of_blocks(2, {10, 20, 10}, 100));
  const auto times = earliest_starts_of(plan);
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->step.count(), 250);
}

// The second place sends its gradient back through the adapter over which it sums its own.
TEST(EarliestStarts, DoesNotKnowWhereExchangesMeet) {
  ModelWork work = work_of_blocks(2, {10, 20, 10}, 100);
  work.exchanged.hidden = {10};
  EXPECT_FALSE(earliest_starts_of(plan_of(two_replicas(2), work)).has_value());
}

TEST(EarliestStarts, DoesNotKnowMessages) {
  TestLayout test = two_replicas(1);
  test.plays_messages = true;
  EXPECT_FALSE(earliest_starts_of(plan_of(test, work_of_blocks(1, {10, 20, 10}))).has_value());
}

}  // namespace
}  // namespace steptime
