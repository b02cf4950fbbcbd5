#include "tests/support/collectives.h"
#include "tests/support/play.h"

#include <chrono>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(BaiduRing, StartsAKernelForEachSum) {
  // 8 ranks: 7 of a ring's 14 steps add up.
  const Cluster cluster = star_cluster(8, {1e-9});
  const auto ring = collective_of(R"({"type": "ring"})", cluster);
  const auto baidu = collective_of(R"({"type": "baidu-ring", "kernel": "20 us"})", cluster);
  for (const std::int64_t m : {0, 8 << 20})
    EXPECT_EQ(baidu->time({m}), ring->time({m}) + 7 * std::chrono::microseconds(20));
}

}  // namespace
}  // namespace steptime
