#include "sim/layouts/play.h"
#include "tests/support/layouts.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// Two layers of forward 10, of which attention takes 3, and backward 15 + 5, one micro-batch: of
// the other 7 the products take 5, as their weights' gradients do, and half of them is made again:
// 7 - 5/2 = 5 (in whole units). Forward passes 20, and backward passes 2 x (5 + 20) = 50. Of 100 B
// of which 20 are the input 40 are kept no longer, and there again in a backward pass.
TEST(Operators, HalfOfTheProductsAreMadeAgain) {
  ModelWork work = work_of_blocks(2, {10, 15, 5});
  for (LayerWork& layer : work.layers) {
    layer.attention = Duration(3);
    layer.kept = {100};
    layer.kept_input = {20};
  }
  for (const LayoutTimes& times :
       in_every_way(plan_of({.recompute = R"({"type": "operators"})"}, std::move(work)))) {
    EXPECT_EQ(times.step.count(), 70);
    EXPECT_EQ(times.ranks[0].spent[static_cast<std::size_t>(Spent::kRecompute)].count(), 10);
    EXPECT_EQ(times.ranks[0].at_peak[static_cast<std::size_t>(HeldFor::kActivations)], 2 * 60 + 40);
  }
}

}  // namespace
}  // namespace steptime
