#include "sim/layouts/pipeline_order.h"
#include "tests/support/layouts.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// (m + p - 1)(F + B); rank 0 holds min(p, m). Source: Narayanan et al., 2006.09503.
TEST(OneFOneB, TakesAsLongAsGPipeAndHoldsNoMoreThanItsRanks) {
  const auto order = make<PipelineOrder>(R"({"type": "1f1b"})");
  for (const auto& [p, m, makespan] : {std::tuple{4, 8, 33}, {8, 8, 45}, {8, 32, 117}}) {
    const SweptOrder swept = sweep_order(*order, {p, m}, {1, 1, 1});
    EXPECT_TRUE(swept.ends);
    EXPECT_EQ(swept.makespan, makespan);
    EXPECT_EQ(swept.held, std::min(p, m));
  }
}

// Ranks 1 and 2 of 3, 4 micro-batches:  F0 F1 B0 F2 B1 F3 B2 B3  and  F0 B0 F1 B1 ...
TEST(OneFOneB, AlternatesBehindAsManyForwardPassesAsThereAreRanksBehind) {
  const auto order = make<PipelineOrder>(R"({"type": "1f1b"})");
  const PipelineShape shape{3, 4};
  std::vector<Pass> passes;
  for (std::int64_t k = 0; k < order->passes(shape, 1); ++k)
    passes.push_back(order->pass(shape, 1, k));
  using enum PassKind;
  EXPECT_EQ(passes, (std::vector<Pass>{{kForward, 0},
                                       {kForward, 1},
                                       {kBackward, 0},
                                       {kForward, 2},
                                       {kBackward, 1},
                                       {kForward, 3},
                                       {kBackward, 2},
                                       {kBackward, 3}}));
  EXPECT_EQ(order->pass(shape, 2, 1), (Pass{kBackward, 0}));
}

// With a latency L at every boundary and p <= m, by the recurrence of the last rank's start and the
// steady state of rank 0, as the oracle does it pass by pass: for m = 1 the step is
// p (F + B) + 2 (p - 1) L.
TEST(OneFOneB, ALoneMicroBatchPaysEachBoundaryTwice) {
  const auto order = make<PipelineOrder>(R"({"type": "1f1b"})");
  EXPECT_EQ(sweep_order(*order, {4, 1}, {3, 2, 1}, 5).makespan, 4 * (3 + 3) + 2 * 3 * 5);
}

}  // namespace
}  // namespace steptime
