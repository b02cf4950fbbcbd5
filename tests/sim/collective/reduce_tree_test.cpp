#include "sim/collective/reduce_tree.h"

#include "tests/support/trees.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(ReduceTree, HasMxnetsDepth) {
  for (const Json& test : mxnet_cases("TestDepth"))
    EXPECT_EQ(tree_depth(test.at("n")), test.at("depth"));
}

TEST(ReduceTree, IsMxnetsArrayAboveItsLeaves) {
  for (const Json& test : mxnet_cases("TestFormTopology")) {
    const auto tree = ReduceTree::above(test.at("state").get<std::vector<Gpu>>());
    EXPECT_EQ(tree.array(), test.at("topology").get<std::vector<Gpu>>());
    EXPECT_EQ(tree.level_starts(), test.at("scan").get<std::vector<std::int32_t>>());
    EXPECT_EQ(tree.depth(), test.at("depth"));
  }
}

TEST(ReduceTree, WeighsWhatItsPairsDo) {
  const Json test = mxnet_test("TestComputeTreeWeight");
  for (const Json& each : test.at("cases")) {
    const auto tree = ReduceTree::above(each.at("state").get<std::vector<Gpu>>());
    EXPECT_EQ(tree.weight(matrix_of(test.at("W"))), each.at("weight").get<float>());
  }
}

TEST(ReduceTree, CopiesLevelAfterLevel) {
  // The tree of the header: 4 -> 0, 2 -> 1, 6 -> 5; 0 -> 3, 5 -> 1; 1 -> 3.
  const auto tree = ReduceTree::above(std::vector<Gpu>{3, 3, 0, 4, 1, 2, 5, 6});
  const std::vector<std::vector<GpuCopy>> copies{
      {{4, 0}, {2, 1}, {6, 5}}, {{0, 3}, {5, 1}}, {{1, 3}}};
  EXPECT_EQ(tree.copies(), copies);
  EXPECT_TRUE(sums_once(tree, 7));
}

TEST(ReduceTree, OfTheProposalsFigure6WeighsSixteen) {
  // 1->5, 3->7, 0->4, 2->6; 7->5, 6->4; 4->5: 3 + 2 + 3 + 2; 2 + 2; 2.
  const Json fig6 = tree_cases("mxnet_tree_reduce_cases").at("fig6");
  const auto tree = ReduceTree::above(std::vector<Gpu>{5, 1, 7, 3, 4, 0, 6, 2});
  EXPECT_EQ(tree.root(), 5);
  EXPECT_EQ(tree.weight(p3_weights()), fig6.at("weight_p3").get<float>());
  const Json& steps = fig6.at("reduce_steps_src_dst");
  const auto copies = tree.copies();
  ASSERT_EQ(copies.size(), steps.size());
  for (std::size_t level = 0; level < copies.size(); ++level) {
    ASSERT_EQ(copies[level].size(), steps[level].size());
    for (std::size_t i = 0; i < copies[level].size(); ++i)
      EXPECT_EQ(copies[level][i], (GpuCopy{steps[level][i][0], steps[level][i][1]}));
  }
}

TEST(ReduceTree, SlicesByRows) {
  for (const Json& test : tree_cases("mxnet_tree_reduce_cases", "slicing")) {
    const std::int64_t row = test.at("other");
    std::vector<std::int64_t> expected;
    if (test.at("multi_tree")) {
      for (const Json& rows : test.at("slice_rows"))
        expected.push_back(rows.get<std::int64_t>() * row);
    }
    EXPECT_EQ(tree_slices(test.at("first_dim"), row, test.at("bound"), test.at("n")), expected);
  }
  EXPECT_TRUE(tree_slices(0, 0, 10, 8).empty());
}

}  // namespace
}  // namespace steptime
