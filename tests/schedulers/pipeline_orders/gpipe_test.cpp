#include "sim/layouts/pipeline_order.h"
#include "tests/support/layouts.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// All of a micro-batch's forward passes come before the first backward pass: (m + p - 1)(F + B),
// whatever F and B. Source: Huang et al., 1811.06965.
TEST(GPipe, TakesMicroBatchesAndRanksButOneOfBothPasses) {
  const auto order = make<PipelineOrder>(R"({"type": "gpipe"})");
  for (const auto& [p, m, makespan] : {std::tuple{4, 8, 33}, {8, 8, 45}, {8, 32, 117}}) {
    const SweptOrder swept = sweep_order(*order, {p, m}, {1, 1, 1});
    EXPECT_TRUE(swept.ends);
    EXPECT_EQ(swept.makespan, makespan);
    EXPECT_EQ(swept.held, m);
  }
  EXPECT_EQ(sweep_order(*order, {3, 5}, {2, 3, 4}).makespan, (5 + 3 - 1) * (2 + 3 + 4));
}

TEST(GPipe, RunsForwardPassesFirst) {
  const auto order = make<PipelineOrder>(R"({"type": "gpipe"})");
  EXPECT_EQ(order->pass({2, 2}, 1, 1), (Pass{PassKind::kForward, 1, 0}));
  EXPECT_EQ(order->pass({2, 2}, 1, 2), (Pass{PassKind::kBackward, 0, 0}));
}

}  // namespace
}  // namespace steptime
