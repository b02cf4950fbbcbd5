#include "sim/layouts/repetition.h"

#include "sim/layouts/play.h"
#include "tests/support/layouts.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Three places, a node each, of a block of 10 ps forward and 20 ps back. What is sent takes 30 ps
/// by itself at 1 B/ps, so that the place in the middle sends both ways at once.
LayoutPlan plan_of_sends(std::int32_t micro_batches, const std::string& order) {
  Cluster cluster;
  cluster.nodes = 3;
  cluster.network = {{}, {1e12}};
  ModelWork work = work_of_blocks(3, {10, 10, 10});
  work.exchanged.hidden = {30};
  return plan_of({.degrees = {1, 1, 1, 3},
                  .order = order,
                  .micro_batches = micro_batches,
                  .cluster = std::make_shared<const Cluster>(cluster)},
                 std::move(work));
}

// The place in the middle keeps its adapter busy: 2 x 30 ps for each micro-batch.
TEST(Repetition, EachMicroBatchTakesWhatTheBusiestLinkDoes) {
  const LayoutTimes hundred = play_layout(plan_of_sends(100, R"({"type": "1f1b"})"));
  const LayoutTimes thousand = play_layout(plan_of_sends(1000, R"({"type": "1f1b"})"));
  EXPECT_GT(hundred.left_out, 50);
  EXPECT_EQ(thousand.left_out, hundred.left_out + 900);
  EXPECT_EQ((thousand.step - hundred.step).count(), 900 * 60);
}

TEST(Repetition, WhatIsLeftOutCountsInAllFigures) {
  for (const char* order : {R"({"type": "1f1b"})", R"({"type": "zb-h1"})"}) {
    const LayoutPlan plan = plan_of_sends(50, order);
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
      EXPECT_EQ(times.ranks[r].peak_at, all.ranks[r].peak_at) << order;
    }
  }
}

// All forward passes come first, and hold more and more.
TEST(Repetition, AnOrderWithoutAPeriodIsPlayedWhole) {
  EXPECT_EQ(play_layout(plan_of_sends(50, R"({"type": "gpipe"})")).left_out, 0);
}

}  // namespace
}  // namespace steptime
