#include "sim/layouts/play.h"
#include "tests/support/layouts.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Fsdp, CutsAllOverItsShardGroup) {
  const auto all = make<States>(R"({"type": "fsdp"})");
  EXPECT_EQ(all->parts(16).weights, 16);
  EXPECT_EQ(all->shard_group(16), 16);
  const auto hybrid = make<States>(R"({"type": "fsdp", "shard_group": 8})");
  EXPECT_EQ(hybrid->parts(16).optimizer, 8);
}

TEST(Fsdp, WithAPipelineWeightsStayUnlessItSaysOtherwise) {
  EXPECT_TRUE(make<States>(R"({"type": "fsdp"})")->gathering(false)->reshards);
  EXPECT_FALSE(make<States>(R"({"type": "fsdp"})")->gathering(true)->reshards);
  EXPECT_TRUE(make<States>(R"({"type": "fsdp", "reshard": true})")->gathering(true)->reshards);
}

/// Three layers of forward 10, backward 20, on two ranks; a gathering takes 4, a sum 6.
LayoutPlan three_layers(const std::string& states) {
  TestLayout test{.degrees = {1, 1, 2, 1}, .states = states};
  ModelWork work = work_of_blocks(3, {10, 15, 5});
  LayoutPlan plan = plan_of(test, std::move(work));
  auto& shards = plan.groups[static_cast<std::size_t>(GroupKind::kShards)];
  shards.all_gather = std::make_shared<LinearCollective>(LinearCost{Duration(4), {}});
  shards.reduce_scatter = std::make_shared<LinearCollective>(LinearCost{Duration(6), {}});
  return plan;
}

std::int64_t step_of(const std::string& keys) {
  return step_in_every_way(three_layers(fmt::format(R"({{"type": "fsdp"{}}})", keys)));
}

// Gatherings A, sums R, layers 1 to 3; one communicator, in order. All in ps.
//
// Two at a time, prefetch:
//   A1 0-4, A2 4-8; F1 4-14; behind it A3 14-18; F2 14-24, behind it A3' (backward) 24-28; F3
//   24-34, B3 begins 34: A2' 34-38; B3 34-54, R3 54-60; B2 54-74 begins: A1' behind R3 60-64; R2
//   74-80; B1 74-94; R1 94-100.
TEST(Fsdp, PrefetchHidesEveryGatheringButTheFirst) {
  EXPECT_EQ(step_of(""), 100);
}

// Without prefetch a unit of the backward pass is asked for when the one before it is over and its
// sum was called:
//   F3 24-34, A3' 24-28, B3 34-54, R3 54-60, A2' 60-64, B2 64-84, R2 84-90, A1' 90-94, B1 94-114,
//   R1 114-120.
TEST(Fsdp, WithoutPrefetchAGatheringWaitsForTheSumBeforeIt) {
  EXPECT_EQ(step_of(R"(, "prefetch": "none")"), 120);
}

// One at a time, a unit is asked for when the one before it is let go:
//   A1 0-4, F1 4-14, A2 14-18, F2 18-28, A3 28-32, F3 32-42, A3' 42-46, B3 46-66, R3 66-72,
//   A2' 72-76, B2 76-96, R2 96-102, A1' 102-106, B1 106-126, R1 126-132.
TEST(Fsdp, OneAtATimeNothingIsHidden) {
  EXPECT_EQ(step_of(R"(, "gathers": 1, "prefetch": "none")"), 132);
  EXPECT_EQ(step_of(R"(, "gathers": 1)"), 132);
}

// The same where weights do not travel while the rank computes.
TEST(Fsdp, WeightsThatNothingIsComputedBesideComeOneAtATime) {
  LayoutPlan plan = three_layers(R"({"type": "fsdp"})");
  plan.beside.weights = false;
  EXPECT_EQ(step_in_every_way(plan), 132);
}

// Kept between the passes, the weights are gathered once: A1 0-4, A2 4-8, F1 4-14, A3 14-18,
// F2 14-24, F3 24-34, B3 34-54, R3 54-60, B2 54-74, R2 74-80, B1 74-94, R1 94-100.
TEST(Fsdp, KeptWeightsAreGatheredOnce) {
  const LayoutPlan plan = three_layers(R"({"type": "fsdp", "reshard": false})");
  const LayoutTimes times = play_layout(plan);
  EXPECT_EQ(times.step.count(), 100);
  EXPECT_EQ(times.ranks[0].exchanges, 3 + 3);
  EXPECT_EQ(times.ranks[0].at_peak[static_cast<std::size_t>(HeldFor::kGathered)], 3);
}

// Two layers on four ranks in shard groups of two: a sum of 6 in the group, then one of 5 of half
// of its bytes over the two replicas. A1 0-4, A2 4-8, F1 4-14, F2 14-24, B2 24-44, R2 44-50, B1
// 44-64, R1 64-70; over the replicas 50-55 and 70-75.
TEST(Fsdp, ShardGroupsSumOverTheirReplicas) {
  LayoutPlan plan = plan_of({.degrees = {1, 1, 4, 1},
                             .states = R"({"type": "fsdp", "shard_group": 2, "reshard": false})"},
                            work_of_blocks(2, {10, 15, 5}, 8));
  auto& shards = plan.groups[static_cast<std::size_t>(GroupKind::kShards)];
  shards.all_gather = std::make_shared<LinearCollective>(LinearCost{Duration(4), {}});
  shards.reduce_scatter = std::make_shared<LinearCollective>(LinearCost{Duration(6), {}});
  plan.groups[static_cast<std::size_t>(GroupKind::kReplicas)] = costs_of(Duration(5), 0);
  const LayoutTimes times = play_layout(plan);
  EXPECT_EQ(times.step.count(), 75);
  EXPECT_EQ(times.ranks[0].bytes[static_cast<std::size_t>(GroupKind::kReplicas)], 2 * 4);
}

// Two units of one parameter of one byte are there at a time, or one.
TEST(Fsdp, NoMoreUnitsAreThereThanItSays) {
  for (const int gathers : {1, 2}) {
    const LayoutTimes times =
        play_layout(three_layers(fmt::format(R"({{"type": "fsdp", "gathers": {}}})", gathers)));
    EXPECT_EQ(times.ranks[0].at_peak[static_cast<std::size_t>(HeldFor::kGathered)], gathers);
    for (const HeldFor what : {HeldFor::kGathered, HeldFor::kActivations, HeldFor::kBuffers})
      EXPECT_EQ(times.ranks[0].left[static_cast<std::size_t>(what)], 0);
  }
}

}  // namespace
}  // namespace steptime
