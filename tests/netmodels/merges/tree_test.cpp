#include "tests/support/push_pulls.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(TreeMerge, HasCopiesOfAGpuToItselfBeforeAndAtItsRoot) {
  // GPU 1's copy to itself is pushed at 49 and ends at 64, its copy up at 1080, the sum at 1095,
  // the root's copy to itself at 1110, and the copy down takes 15 + 1001.
  EXPECT_NEAR(us(push_pulls("tree"), pair_of_gpus(), 1'000'000), 2126, 1e-6);
  // Each copy to itself reads and writes for 200 us, the sum takes 300.
  EXPECT_NEAR(us(push_pulls("tree"), pair_of_gpus(0.3e-9), 1'000'000), 2126 + 2 * 200 + 300, 1e-6);
}

TEST(TreeMerge, OneCallForBothWouldNotNeedThose) {
  // GPU 1's copy up is pushed at 47: up until 1063, the sum of two until 1078 + 300, down 15 +
  // 1001.
  EXPECT_NEAR(
      us(push_pulls(R"({"type": "tree", "own_copies": false})"), pair_of_gpus(0.3e-9), 1'000'000),
      1078 + 300 + 1016, 1e-6);
}

TEST(TreeMerge, SlicesEndInOneArray) {
  // Half of the array goes up each of two trees. The operations of the trees of GPU 0 and of GPU 1
  // are pushed at 47 to 53 and 55 to 61: copies to itself until 64 and 70, up until 580 and 586,
  // sums until 595 and 601, down until 1111 and 1117. GPU 1 copies slice 0 into the result until
  // 1126, and then slice 1, which is a write of the same array: 1141.
  EXPECT_NEAR(
      us(push_pulls(R"({"type": "tree", "array_bound": "0 B"})"), pair_of_gpus(), 1'000'000), 1141,
      1e-6);
}

}  // namespace
}  // namespace steptime
