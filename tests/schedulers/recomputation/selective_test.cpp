#include "sim/layouts/play.h"
#include "tests/support/layouts.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// Two layers of forward 10, of which attention takes 3, and backward 20, one micro-batch: forward
// passes 20, and backward passes with attention again 2 x (3 + 20) = 46. Each layer keeps 40, and
// in the backward pass one has what attention keeps, too.
TEST(Selective, AttentionIsComputedAgain) {
  ModelWork work = work_of_blocks(2, {10, 15, 5});
  for (LayerWork& layer : work.layers) {
    layer.attention = Duration(3);
    layer.kept = {100};
    layer.kept_attention = {60};
  }
  for (const LayoutTimes& times :
       in_every_way(plan_of({.recompute = R"({"type": "selective"})"}, std::move(work)))) {
    EXPECT_EQ(times.step.count(), 66);
    EXPECT_EQ(times.ranks[0].spent[static_cast<std::size_t>(Spent::kRecompute)].count(), 6);
    EXPECT_EQ(times.ranks[0].at_peak[static_cast<std::size_t>(HeldFor::kActivations)], 2 * 40 + 60);
  }
}

}  // namespace
}  // namespace steptime
