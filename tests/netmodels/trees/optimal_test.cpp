#include "sim/collective/reduce_tree.h"
#include "tests/support/trees.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Optimal, WeighsTwentyForEveryRootOfAP3) {
  // Six double NVLinks and a single one: of the three that meet at a root, at most two are double.
  const LinkMatrix weights = p3_weights();
  const auto trees = make<TreePlanner>(R"({"type": "optimal"})")->plan(weights);
  ASSERT_EQ(trees.size(), 8U);
  for (Gpu root = 0; root < 8; ++root) {
    const ReduceTree& tree = trees[static_cast<std::size_t>(root)];
    EXPECT_EQ(tree.root(), root);
    EXPECT_EQ(tree.weight(weights), 20);
    EXPECT_TRUE(sums_once(tree, 8));
  }
}

TEST(Optimal, CrossesPcieAsSeldomAsItCan) {
  // Two pairs of GPUs: two NVLinks of weight 3 and one crossing of 1/4.
  const LinkMatrix weights =
      link_weights(LinkMatrix{{0, 3, 1, 1}, {3, 0, 1, 1}, {1, 1, 0, 3}, {1, 1, 3, 0}});
  for (const ReduceTree& tree : make<TreePlanner>(R"({"type": "optimal"})")->plan(weights))
    EXPECT_EQ(tree.weight(weights), 6.25F);
}

/// A star: all other GPUs have two NVLinks to GPU 2, which may receive from all four of them, as
/// two parts of the tree may both have it as their root; 4 x 3.
TEST(Optimal, ARootMayReceiveTwiceAtEveryHeightButTheLast) {
  const LinkMatrix weights = link_weights(LinkMatrix{
      {0, 1, 3, 1, 1}, {1, 0, 3, 1, 1}, {3, 3, 0, 3, 3}, {1, 1, 3, 0, 1}, {1, 1, 3, 1, 0}});
  const ReduceTree tree = make<TreePlanner>(R"({"type": "optimal"})")->plan(weights)[2];
  EXPECT_EQ(tree.weight(weights), 12);
  EXPECT_TRUE(sums_once(tree, 5));
}

}  // namespace
}  // namespace steptime
