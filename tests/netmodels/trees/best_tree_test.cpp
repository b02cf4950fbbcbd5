#include "netmodels/trees/best_tree.h"

#include "tests/support/trees.h"

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

double worth(const ReduceTree& tree, const std::function<double(Gpu, Gpu)>& value) {
  double sum = 0;
  for (const auto& level : tree.copies()) {
    for (const GpuCopy& copy : level)
      sum += value(copy.from, copy.to);
  }
  return sum;
}

/// All ways to place GPUs on the leaves, each sending once.
double best_of_all(Gpu gpus, Gpu root, const std::function<double(Gpu, Gpu)>& value) {
  std::vector<Gpu> leaves(std::size_t{1} << tree_depth(gpus), root);
  double best = -1e9;
  const std::function<void(std::size_t)> place = [&](std::size_t leaf) {
    if (leaf == leaves.size()) {
      const ReduceTree tree = ReduceTree::above(leaves);
      if (sums_once(tree, gpus)) best = std::max(best, worth(tree, value));
      return;
    }
    for (Gpu gpu = 0; gpu < gpus; ++gpu) {
      leaves[leaf] = gpu;
      place(leaf + 1);
    }
  };
  place(1);
  return best;
}

TEST(BestTree, IsTheBestOfAll) {
  std::mt19937 random(1);
  for (Gpu n = 2; n <= 5; ++n) {
    for (int i = 0; i < (n == 5 ? 1 : 5); ++i) {
      std::vector<double> values;
      for (Gpu pair = 0; pair < n * n; ++pair)
        values.push_back(static_cast<double>(random() % 100));
      const auto value = [&](Gpu from, Gpu to) {
        return values[static_cast<std::size_t>(from * n + to)];
      };
      BestTrees trees(n);
      trees.solve(value);
      for (Gpu root = 0; root < (n == 5 ? 1 : n); ++root) {
        const ReduceTree tree = trees.tree(root);
        EXPECT_EQ(tree.root(), root);
        EXPECT_EQ(tree.depth(), tree_depth(n));
        EXPECT_TRUE(sums_once(tree, n));
        EXPECT_EQ(worth(tree, value), best_of_all(n, root, value)) << n << " GPUs, root " << root;
      }
    }
  }
}

TEST(BestTree, OverSixteenTakesTheHeavyPairs) {
  // Only pairs whose numbers differ in one bit weigh anything: a binomial tree, of 15 such pairs,
  // is one of them.
  LinkMatrix weights(16);
  for (Gpu i = 0; i < 16; ++i) {
    for (Gpu bit = 1; bit < 16; bit *= 2)
      weights.set(i, i ^ bit, 3);
  }
  for (const ReduceTree& tree : BestTrees(16).heaviest(weights)) {
    EXPECT_EQ(tree.weight(weights), 45);
    EXPECT_TRUE(sums_once(tree, 16));
  }
}

TEST(BestTree, UsesAPairWithoutALinkOnlyWhereItMust) {
  // 0 - 1 - 2 - 3: over links alone root 0 has 1 below it, which has 2, which has 3: three levels
  // where there are two. One copy goes without a link: 2 -> 0 or 3 -> 0, never two.
  LinkMatrix chain(4);
  for (Gpu gpu = 1; gpu < 4; ++gpu)
    chain.set(gpu - 1, gpu, 2);
  const auto trees = BestTrees(4).heaviest(chain);
  EXPECT_EQ(trees[0].weight(chain), 4);
  EXPECT_EQ(trees[1].weight(chain), 6);
}

}  // namespace
}  // namespace steptime
