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
       {std::pair(R"({"type": "1f1b"})", 25), std::pair(R"({"type": "zb-h1"})", 20)}) {
    const LayoutPlan plan = plan_of_sends(50, order, sent);
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
