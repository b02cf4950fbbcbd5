// The bodies of our CUDA kernels, run on the host thread by thread, in an order that no launch
// promises.
#include "calibration/cuda/kernels.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::vector<Four> buffer(std::int64_t values) {
  return std::vector<Four>(static_cast<std::size_t>(values / 4 + 2));
}
float* floats(std::vector<Four>& fours) {
  return &fours.front().a;
}

// i + 1000 i = 1001 i, whole numbers below 2^24 that float32 has exactly; the value after the last
// stays, and an element that two threads took would be 2001 i.
TEST(Kernels, AddEveryValueOnceForAnyNumberOfThreads) {
  for (const std::int64_t values : {0, 1, 3, 4, 5, 512, 1027}) {
    for (const std::int64_t threads : {1, 7, 512, 4096}) {
      std::vector<Four> from_fours = buffer(values);
      std::vector<Four> into_fours = buffer(values);
      float* from = floats(from_fours);
      float* into = floats(into_fours);
      for (std::int64_t i = 0; i <= values; ++i) {
        from[i] = static_cast<float>(1000 * i);
        into[i] = static_cast<float>(i);
      }
      for (std::int64_t thread = threads; thread-- > 0;)
        add(from, into, values, {thread, threads});
      for (std::int64_t i = 0; i < values; ++i)
        ASSERT_EQ(into[i], static_cast<float>(1001 * i)) << values << " by " << threads;
      EXPECT_EQ(into[values], static_cast<float>(values));
      EXPECT_EQ(from[values], static_cast<float>(1000 * values));
    }
  }
}

// 2 - x halves each turn: from 0 after 3 turns 2 - 2/8, from 1 after 3 turns 2 - 1/8, exact in
// binary; after 60 turns nothing is left of the difference.
TEST(Kernels, ChurningComesCloserToTwo) {
  EXPECT_EQ(churned(0, 0), 0.0F);
  EXPECT_EQ(churned(0, 3), 1.75F);
  EXPECT_EQ(churned(1, 3), 1.875F);
  EXPECT_EQ(churned(1, 60), 2.0F);
  std::vector<float> out(3, -1.0F);
  for (std::int64_t thread = 0; thread < 2; ++thread)
    churn(out.data(), 3, {thread, 2});
  EXPECT_EQ(out, (std::vector<float>{1.75F, 1.875F, -1.0F}));
}

}  // namespace
}  // namespace steptime
