#include "sim/collective/collective.h"
#include "tests/support/cluster.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// alpha = 10 us, beta = 1 ns/B (1 GB/s), gamma = 0.5 ns/B.
//
// 004 Table II: a = 2 alpha log2 N, b = (2 beta + gamma) log2 N = 2.5 ns/B log2 N.
TEST(BinaryTree, ClosedForm) {
  expect_line(R"({"type": "binary-tree"})", 2, 20e-6, 2.5e-9);     // log2 N = 1
  expect_line(R"({"type": "binary-tree"})", 8, 60e-6, 7.5e-9);     // 3
  expect_line(R"({"type": "binary-tree"})", 1024, 200e-6, 25e-9);  // 10
}

TEST(BinaryTree, OneWorkerNeedsNothing) {
  const auto alone = make<Collective>(R"({"type": "binary-tree"})", flat_cluster(1));
  EXPECT_EQ(alone->time(Bytes{1'000'000}), Duration{});
}

TEST(BinaryTree, TheDepthOfAnUnfinishedLevelCounts) {
  // N = 5 to 8 have depth 3; one more rank needs a fourth level.
  for (const int n : {5, 6, 7, 8})
    expect_line(R"({"type": "binary-tree"})", n, 60e-6, 7.5e-9);
  expect_line(R"({"type": "binary-tree"})", 9, 80e-6, 10e-9);
}

}  // namespace
}  // namespace steptime
