#include "sim/layouts/pipeline_order.h"
#include "tests/support/layouts.h"

#include <tuple>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// m(F + I + W) + (p - 1)(F + I - W); rank 0 holds p, as 1f1b. Source: Qi et al., 2401.10241.
TEST(ZbH1, WeightGradientsFillTheBubble) {
  const auto order = make<PipelineOrder>(R"({"type": "zb-h1"})");
  for (const auto& [p, m, makespan] : {std::tuple{4, 8, 27}, {8, 8, 31}, {8, 32, 103}}) {
    const SweptOrder swept = sweep_order(*order, {p, m}, {1, 1, 1});
    EXPECT_TRUE(swept.ends);
    EXPECT_EQ(swept.makespan, makespan);
    EXPECT_EQ(swept.held, p);
  }
}

// Also where there are fewer micro-batches than ranks: every pass comes once, and the step ends.
TEST(ZbH1, MakesEveryPassOnceForAnyNumbers) {
  const auto order = make<PipelineOrder>(R"({"type": "zb-h1"})");
  for (std::int32_t p = 1; p <= 7; ++p) {
    for (std::int32_t m = 1; m <= 9; ++m)
      EXPECT_TRUE(sweep_order(*order, {p, m}, {2, 1, 3}).ends) << p << " " << m;
  }
}

}  // namespace
}  // namespace steptime
