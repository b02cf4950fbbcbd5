#include "tests/support/config_text.h"
#include "tests/support/pipeline_sweep.h"

#include <memory>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const PipelineOrder& gpipe() {
  static const auto order = make<PipelineOrder>(R"("gpipe")");
  return *order;
}

TEST(GPipe, ForwardPassesFirst) {
  const PipelineShape shape{.ranks = 4, .micro_batches = 3};
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(text_of(gpipe(), shape, rank), "F0 F1 F2 B0 B1 B2");
  EXPECT_EQ(gpipe().chunks(), 1);
  EXPECT_EQ(gpipe().refusal(shape), "");
}

// (m + p - 1)(F + B), F = 1, B = I + W = 2: 11 x 3, 15 x 3, 39 x 3.
TEST(GPipe, TheFirstAndTheLastRankWaitForEachOther) {
  EXPECT_EQ(sweep(gpipe(), {4, 8}, {}).makespan, 33);
  EXPECT_EQ(sweep(gpipe(), {8, 8}, {}).makespan, 45);
  EXPECT_EQ(sweep(gpipe(), {8, 32}, {}).makespan, 117);
}

TEST(GPipe, HoldsEveryMicroBatch) {
  EXPECT_EQ(sweep(gpipe(), {3, 5}, {}).held, (std::vector<std::int64_t>{5, 5, 5}));
}

}  // namespace
}  // namespace steptime
