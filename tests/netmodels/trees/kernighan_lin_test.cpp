#include "netmodels/trees/kernighan_lin.h"

#include "netmodels/trees/backtracking.h"
#include "tests/support/presets.h"
#include "tests/support/trees.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Gpus = std::vector<Gpu>;

Partition partition_of(const Json& groups) {
  Partition partition(static_cast<Gpu>(groups.size()));
  partition.group = groups.get<std::vector<std::int32_t>>();
  return partition;
}

TEST(KernighanLin, FindsTheRootOfAGroup) {
  for (const Json& test : mxnet_cases("TestGetRoot")) {
    EXPECT_EQ(root_in(partition_of(test.at("P")), test.at("color"), test.at("roots").get<Gpus>()),
              test.at("root"));
  }
}

TEST(KernighanLin, FindsTheOtherOfAGroupOfTwo) {
  const Json test = mxnet_test("TestGetChild");
  for (const Json& each : test.at("cases")) {
    EXPECT_EQ(child_in(partition_of(test.at("P")), each.at("color"), each.at("parent")),
              each.at("child"));
  }
}

TEST(KernighanLin, FindsTheHeaviestChildren) {
  const Json test = mxnet_test("TestFindBestEdge");
  for (const Json& each : test.at("cases")) {
    EXPECT_EQ(heaviest_children(matrix_of(test.at("W")), partition_of(test.at("P")),
                                each.at("parent"), each.at("dest_cluster")),
              each.at("candidates").get<Gpus>());
  }
  // One without a link stands behind the -1, so that it is never taken.
  EXPECT_EQ(heaviest_children(LinkMatrix(2), partition_of({0, 1}), 0, 1), (Gpus{-1, 1}));
}

TEST(KernighanLin, AddsALevelAsMxnetDoes) {
  for (const char* name : {"TestKLGenerateBinaryTree1", "TestKLGenerateBinaryTree2"}) {
    const Json test = mxnet_test(name);
    GrowingTree tree(0);
    tree.array = test.at("topo_in").get<Gpus>();
    tree.roots = test.at("roots").get<Gpus>();
    std::vector<GroupPair> pairs;
    for (const Json& pair : test.at("cluster_pairs"))
      pairs.push_back({pair[0], pair[1]});
    std::mt19937 random(1);
    EXPECT_TRUE(
        add_level(matrix_of(test.at("W")), partition_of(test.at("P")), pairs, tree, random));
    EXPECT_EQ(tree.array, test.at("topo_out").get<Gpus>()) << name;
    EXPECT_EQ(tree.last, test.at("scan_out").back()) << name;
  }
}

TEST(KernighanLin, GetsStuckWithoutALinkBetweenTheHalves) {
  const std::vector<GroupPair> pairs{{0, 1}};
  GrowingTree tree(0);
  std::mt19937 random(1);
  EXPECT_FALSE(add_level(LinkMatrix(2), partition_of({0, 1}), pairs, tree, random));
  // A group of two that has no root: it had one a level before.
  EXPECT_FALSE(add_level(LinkMatrix(3), partition_of({0, 1, 1}),
                         std::vector<GroupPair>{{0, -1}, {1, -2}}, tree, random));
}

TEST(KernighanLin, NeverSucceedsWithGroupsOfDifferentDepth) {
  // 5 are cut into 2 and 3, of which only the 3 are cut again: the 2 have lost their root.
  for (const Gpu n : {5, 9, 10, 11}) {
    LinkMatrix weights(n);
    for (Gpu i = 0; i < n; ++i) {
      for (Gpu j = 0; j < i; ++j)
        weights.set(i, j, 2);
    }
    EXPECT_FALSE(kernighan_lin(weights, 0)) << n;
    const auto trees = mxnet_planner(false, 0.7)->plan(weights);
    ASSERT_EQ(trees.size(), static_cast<std::size_t>(n));
    for (const ReduceTree& tree : trees)
      EXPECT_TRUE(sums_once(tree, n)) << n;
  }
}

/// Every tree of a case of MXNet's header, both weights, and the weights that are left.
void expect_trees(const Json& test) {
  const std::string name = test.at("name");
  const LinkMatrix weights = matrix_of(test.at("W"));
  const auto penalty = test.at("alpha").get<float>();
  const auto trees = mxnet_planner(test.at("backtrack"), penalty)->plan(weights);
  ASSERT_EQ(trees.size(), test.at("trees").size()) << name;
  LinkMatrix now = weights;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const Json& expected = test.at("trees")[i];
    const ReduceTree& tree = trees[i];
    EXPECT_EQ(tree.root(), expected.at("root")) << name;
    EXPECT_EQ(tree.array(), expected.at("topology").get<Gpus>()) << name;
    EXPECT_EQ(tree.level_starts(), expected.at("scan").get<std::vector<std::int32_t>>()) << name;
    EXPECT_NEAR(tree.weight(weights), expected.at("weight_on_original_W"), 1e-5) << name;
    EXPECT_NEAR(tree.weight(now), expected.at("weight_on_penalized_W"), 1e-4) << name;
    EXPECT_NEAR(score(now, tree.level(tree.depth())), expected.at("score_with_structural_penalty"),
                1e-4)
        << name;
    const bool halved = expected.at("method") == "kernighan-lin";
    EXPECT_EQ(halved, !test.at("backtrack") && kernighan_lin(now, tree.root()) == tree) << name;
    EXPECT_TRUE(sums_once(tree, weights.gpus())) << name;
    penalise(now, tree, penalty);
  }
  const LinkMatrix left = matrix_of(test.at("W_after"));
  for (Gpu i = 0; i < now.gpus(); ++i) {
    for (Gpu j = 0; j < now.gpus(); ++j)
      EXPECT_NEAR(now.at(i, j), left.at(i, j), 1e-5) << name;
  }
}

TEST(KernighanLin, BuildsMxnetsTrees) {
  // By backtracking, too.
  const Json cases = tree_cases("mxnet_topology_cases");
  for (const char* group : {"p3_and_dgx1", "random_tests"}) {
    for (const Json& test : cases.at(group))
      expect_trees(test);
  }
}

TEST(KernighanLin, ReducesAsMxnetDoes) {
  const LinkMatrix codes = link_codes(preset_cluster("p3.16xlarge"));
  const auto first = [&](std::vector<Gpu> gpus) { return link_weights(codes.of(gpus)); };
  const LinkMatrix repaired = link_weights(detected(codes, LinkDetection::kRepaired));
  struct Planned {
    const char* name;
    LinkMatrix weights;
    bool backtracks;
    double penalty;
  };
  const Planned planned[] = {
      {"p3_gpus0-3", first({0, 1, 2, 3}), false, 0.7},
      {"p3_gpus0-5", first({0, 1, 2, 3, 4, 5}), false, 0.7},
      {"p3_gpus0-7", p3_weights(), false, 0.7},
      {"p3_gpus0-7_backtrack", p3_weights(), true, 0.7},
      {"p3_8gpu_alpha1_backtrack(optimal unpenalised)", p3_weights(), true, 1},
      {"cuda9.2_fallback_all_single_gpus0-7", repaired, false, 0.7},
      {"dgx1_p100_all_single_backtrack", repaired, true, 0.7}};
  const Json cases = tree_cases("mxnet_tree_reduce_cases").at("trees");
  ASSERT_EQ(cases.size(), std::size(planned));
  for (std::size_t c = 0; c < std::size(planned); ++c) {
    ASSERT_EQ(cases[c].at("name"), planned[c].name);
    const auto trees =
        mxnet_planner(planned[c].backtracks, planned[c].penalty)->plan(planned[c].weights);
    for (std::size_t i = 0; i < trees.size(); ++i) {
      Json steps = Json::array();
      for (const auto& level : trees[i].copies()) {
        steps.push_back(Json::array());
        for (const GpuCopy& copy : level)
          steps.back().push_back({copy.from, copy.to});
      }
      EXPECT_EQ(steps, cases[c].at("trees")[i].at("reduce_steps_src_dst")) << planned[c].name;
    }
  }
}

TEST(KernighanLin, GivesTreesOfTheRightSizeForRandomLinks) {
  // TestComputeTrees2: n = 2 to 16, five matrices each of which weighs 1, 2 or 3.
  std::mt19937 random(1);
  for (Gpu n = 2; n <= 16; ++n) {
    for (int i = 0; i < 5; ++i) {
      LinkMatrix weights(n);
      for (Gpu row = 0; row < n; ++row) {
        for (Gpu column = row + 1; column < n; ++column)
          weights.set(row, column, static_cast<float>(1 + random() % 3));
      }
      for (const ReduceTree& tree : mxnet_planner(false, 0.7)->plan(weights)) {
        EXPECT_EQ(tree.depth(), tree_depth(n));
        EXPECT_EQ(tree.array().size(), (std::size_t{2} << tree_depth(n)) - 1);
        EXPECT_TRUE(sums_once(tree, n));
      }
    }
  }
}

}  // namespace
}  // namespace steptime
