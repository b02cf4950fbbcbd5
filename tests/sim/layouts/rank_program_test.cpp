#include "sim/layouts/rank_program.h"

#include "sim/layouts/play.h"
#include "tests/support/layouts.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// One rank makes all passes of its order, one after another: 3 x (2 + 3 + 4), whether the weights'
// gradients are a pass of their own or not.
TEST(RankProgram, MakesAllPassesOfItsOrder) {
  for (const char* order : {"gpipe", "1f1b", "zb-h1"}) {
    const LayoutTimes times = play_layout(plan_of(
        {.order = Json{{"type", order}}.dump(), .micro_batches = 3}, work_of_blocks(1, {2, 3, 4})));
    EXPECT_EQ(times.step.count(), 27) << order;
  }
}

// Gradients of zb-h1 are all there behind the last pass for weights: F 2, I 3, W 4, and a sum of 5.
TEST(RankProgram, SumsGradientsBehindTheirWeightsPass) {
  const LayoutTimes times = play_layout(plan_of(
      {.degrees = {1, 1, 2, 1}, .order = R"({"type": "zb-h1"})", .costs = costs_of(Duration(5), 0)},
      work_of_blocks(1, {2, 3, 4})));
  EXPECT_EQ(times.step.count(), 9 + 5);
}

}  // namespace
}  // namespace steptime
