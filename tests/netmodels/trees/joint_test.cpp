#include "sim/collective/link_load.h"
#include "sim/collective/reduce_tree.h"
#include "sim/core/error.h"
#include "tests/support/trees.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

LinkLoad::Busiest busiest(const LinkMatrix& weights, std::vector<ReduceTree> trees) {
  LinkLoad load(weights);
  for (const ReduceTree& tree : trees)
    load.add(tree, 1);
  return load.busiest();
}

TEST(Joint, LoadsAP3WithOneAndAHalfTreesPerNvlink) {
  // 8 trees of 7 copies are 56 uses of 48 links in one direction: more than one for some; and of
  // the 16 double links at least one carries 3.
  const LinkMatrix weights = p3_weights();
  const auto trees = make<TreePlanner>(R"({"type": "joint"})")->plan(weights);
  EXPECT_EQ(busiest(weights, trees).nvlink, 1.5);
  for (Gpu root = 0; root < 8; ++root) {
    EXPECT_EQ(trees[static_cast<std::size_t>(root)].root(), root);
    EXPECT_TRUE(sums_once(trees[static_cast<std::size_t>(root)], 8));
  }
}

TEST(Joint, SpreadsWhatGoesOverPcie) {
  // Two pairs of GPUs, four trees, each of which crosses once, over four of the eight ways: one use
  // of what counts as a quarter of an NVLink.
  const LinkMatrix weights =
      link_weights(LinkMatrix{{0, 2, 1, 1}, {2, 0, 1, 1}, {1, 1, 0, 3}, {1, 1, 3, 0}});
  EXPECT_EQ(busiest(weights, make<TreePlanner>(R"({"type": "joint"})")->plan(weights)).other, 4);
}

TEST(Joint, HasTreesWhereMxnetHasNone) {
  // A chain of five: from its end four links would have to follow one another in three levels.
  LinkMatrix chain(5);
  for (Gpu gpu = 1; gpu < 5; ++gpu)
    chain.set(gpu - 1, gpu, 2);
  EXPECT_THROW(mxnet_planner(false, 0.7)->plan(chain), ModelFailure);
  const auto trees = make<TreePlanner>(R"({"type": "joint"})")->plan(chain);
  ASSERT_EQ(trees.size(), 5U);
  for (const ReduceTree& tree : trees)
    EXPECT_TRUE(sums_once(tree, 5));
}

}  // namespace
}  // namespace steptime
