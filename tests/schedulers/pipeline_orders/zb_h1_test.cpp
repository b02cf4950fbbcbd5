#include "tests/support/config_text.h"
#include "tests/support/pipeline_sweep.h"

#include <memory>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const PipelineOrder& zb_h1() {
  static const auto order = make<PipelineOrder>(R"("zb-h1")");
  return *order;
}

// Rank r puts off r of the weights' gradients.
TEST(ZbH1, LaterRanksPutOffMoreWeightGradients) {
  const PipelineShape shape{.ranks = 3, .micro_batches = 4};
  EXPECT_EQ(text_of(zb_h1(), shape, 0), "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3");
  EXPECT_EQ(text_of(zb_h1(), shape, 1), "F0 F1 I0 F2 I1 W0 F3 I2 W1 I3 W2 W3");
  EXPECT_EQ(text_of(zb_h1(), shape, 2), "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3");
}

TEST(ZbH1, WithFewMicroBatches) {
  const PipelineShape shape{.ranks = 5, .micro_batches = 2};
  EXPECT_EQ(text_of(zb_h1(), shape, 0), "F0 F1 I0 W0 I1 W1");
  EXPECT_EQ(text_of(zb_h1(), shape, 1), "F0 F1 I0 I1 W0 W1");
  EXPECT_EQ(text_of(zb_h1(), shape, 3), "F0 F1 I0 I1 W0 W1");
  EXPECT_EQ(text_of(zb_h1(), shape, 4), "F0 I0 F1 I1 W0 W1");
}

// m (F + I + W) + (p - 1)(F + I - W): 24 + 3, 24 + 7, 96 + 7.
TEST(ZbH1, OneThirdOfTheBubbles) {
  EXPECT_EQ(sweep(zb_h1(), {4, 8}, {}).makespan, 27);
  EXPECT_EQ(sweep(zb_h1(), {8, 8}, {}).makespan, 31);
  EXPECT_EQ(sweep(zb_h1(), {8, 32}, {}).makespan, 103);
}

// p - r - 1 + 1 forward passes before the first I, and r more before the first W.
TEST(ZbH1, EveryRankHoldsAsManyAsTheFirst) {
  EXPECT_EQ(sweep(zb_h1(), {4, 8}, {}).held, (std::vector<std::int64_t>{4, 4, 4, 4}));
  EXPECT_EQ(sweep(zb_h1(), {4, 2}, {}).held, (std::vector<std::int64_t>{2, 2, 2, 2}));
}

// m = 2, p = 2, W = 3 > I: rank 1 makes F0 I0 F1 I1 W0 W1 after 1, so until 1 + 4 + 6 = 11; rank 0
// makes I0 3 to 4, W0 4 to 7, I1 7 to 8, W1 to 11. The form outside its conditions says 9.
TEST(ZbH1, WithSlowWeightGradientsItTakesLongerThanTheForm) {
  EXPECT_EQ(sweep(zb_h1(), {2, 2}, {1, 1, 3}).makespan, 11);
}

TEST(ZbH1, SplitsBackwardPasses) {
  EXPECT_TRUE(zb_h1().splits_backward());
}

}  // namespace
}  // namespace steptime
