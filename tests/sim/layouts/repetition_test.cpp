#include "sim/layouts/repetition.h"

#include "sim/layouts/play.h"
#include "tests/support/layouts.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Three places, a node each, of one, one and two blocks of 10 ps forward and 20 ps back. What is
/// sent takes so many ps by itself at 1 B/ps, so that the place in the middle sends both ways at
/// once.
LayoutPlan plan_of_sends(std::int32_t micro_batches, const std::string& order,
                         std::int64_t sent = 25) {
  Cluster cluster;
  cluster.nodes = 3;
  cluster.network = {{}, {1e12}};
  ModelWork work = work_of_blocks(4, {10, 10, 10});
  work.exchanged.hidden = {sent};
  return plan_of({.degrees = {1, 1, 1, 3},
                  .order = order,
                  .stages = {1, 1, 2},
                  .micro_batches = micro_batches,
                  .cluster = std::make_shared<const Cluster>(cluster)},
                 std::move(work));
}

/// Two pipelines of them, which sum up the gradients of each micro-batch, 4 B a block, beside the
/// next one: each sum begins together with a send.
LayoutPlan plan_of_sends_and_sums(std::int32_t micro_batches) {
  Cluster cluster;
  cluster.nodes = 6;
  cluster.network = {{}, {1e12}};
  ModelWork work = work_of_blocks(4, {10, 10, 10}, 4);
  work.exchanged.hidden = {25};
  return plan_of({.degrees = {1, 1, 2, 3},
                  .order = R"({"type": "gpipe"})",
                  .states = R"({"type": "zero", "stage": 2})",
                  .stages = {1, 1, 2},
                  .micro_batches = micro_batches,
                  .cluster = std::make_shared<const Cluster>(cluster)},
                 std::move(work));
}

// Two micro-batches go there and back between the last two places, one of which waits for the
// other's sends: a period of the order takes 45 ps and 130 ps in turn.
TEST(Repetition, APeriodOfTheStepIsTwoOfTheOrder) {
  const LayoutTimes hundred = play_layout(plan_of_sends(100, R"({"type": "1f1b"})"));
  const LayoutTimes thousand = play_layout(plan_of_sends(1000, R"({"type": "1f1b"})"));
  EXPECT_GT(hundred.left_out, 35);
  EXPECT_EQ(thousand.left_out, hundred.left_out + 450);
  EXPECT_EQ((thousand.step - hundred.step).count(), 450 * (45 + 130));
}

TEST(Repetition, WhatIsLeftOutCountsInAllFigures) {
  for (const auto& [order, sent] :
       {std::pair(R"({"type": "1f1b"})", 25), std::pair(R"({"type": "zb-h1"})", 20),
        std::pair(R"({"type": "gpipe"})", 0)}) {
    const LayoutPlan plan = sent > 0 ? plan_of_sends(50, order, sent) : plan_of_sends_and_sums(50);
    const LayoutTimes times = play_layout(plan);
    const LayoutTimes all = only_programs(plan);
    EXPECT_GT(times.left_out, 0) << order;
    EXPECT_EQ(all.left_out, 0);
    EXPECT_EQ(times.fingerprint, all.fingerprint) << order;
    EXPECT_EQ(times.step, all.step) << order;
    EXPECT_EQ(times.busiest, all.busiest) << order;
    for (std::size_t r = 0; r < 3; ++r) {
      EXPECT_EQ(times.ranks[r].spent, all.ranks[r].spent) << order;
      EXPECT_EQ(times.ranks[r].bytes, all.ranks[r].bytes) << order;
      EXPECT_EQ(times.ranks[r].exchanges, all.ranks[r].exchanges) << order;
      EXPECT_EQ(times.ranks[r].exchanging, all.ranks[r].exchanging) << order;
      EXPECT_EQ(times.ranks[r].peak, all.ranks[r].peak) << order;
      EXPECT_EQ(times.ranks[r].peak_at, all.ranks[r].peak_at) << order;
      EXPECT_EQ(times.ranks[r].left, all.ranks[r].left) << order;
    }
  }
}

// All forward passes come first, each of which waits for what is sent: one in 25 ps. Backward
// passes all wait for the last place, of two blocks: one in 40 ps, in which a link has at most 25 B
// to send and half of 8 B to sum up.
TEST(Repetition, OfAllForwardPassesFirstTheBackwardOnesAreLeftOut) {
  const LayoutTimes hundred = play_layout(plan_of_sends_and_sums(100));
  const LayoutTimes thousand = play_layout(plan_of_sends_and_sums(1000));
  EXPECT_GT(hundred.left_out, 85);
  EXPECT_EQ(thousand.left_out, hundred.left_out + 900);
  EXPECT_EQ((thousand.step - hundred.step).count(), 900 * (25 + 40));
  // What a micro-batch keeps is held for all of them, then let go.
  EXPECT_EQ(hundred.ranks[0].peak, only_programs(plan_of_sends_and_sums(100)).ranks[0].peak);
  EXPECT_EQ(hundred.ranks[0].left, thousand.ranks[0].left);
}

TEST(Repetition, AStepOfFewMicroBatchesIsPlayedWhole) {
  EXPECT_EQ(play_layout(plan_of_sends(7, R"({"type": "gpipe"})")).left_out, 0);
}

}  // namespace
}  // namespace steptime
