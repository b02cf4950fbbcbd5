#include "netmodels/trees/partition.h"

#include "tests/support/trees.h"

#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Partition, ExcessIsMinusTheSideTimesWhatTheRowAddsUpTo) {
  // All on one side: the excess is minus the sum of the row, y of MXNet's test of y = A x.
  const Json test = mxnet_test("TestGemv");
  std::vector<float> minus_y = test.at("y").get<std::vector<float>>();
  for (float& y : minus_y)
    y = -y;
  EXPECT_EQ(cut_excess(matrix_of(test.at("A")), test.at("x").get<std::vector<std::int32_t>>()),
            minus_y);
  // 0 on one side, 1 and 2 on the other: 0 has 5 + 7 across; 1 has 5 across and 11 beside it; 2 has
  // 7 across and 11 beside it.
  const LinkMatrix three{{0, 5, 7}, {5, 0, 11}, {7, 11, 0}};
  EXPECT_EQ(cut_excess(three, std::vector<std::int32_t>{1, -1, -1}),
            (std::vector<float>{12, -6, -4}));
}

TEST(Partition, FindsMxnetsBestExchange) {
  const Json test = mxnet_test("TestFindBestMove");
  const LinkMatrix weights = matrix_of(test.at("W"));
  for (const Json& each : test.at("cases")) {
    EXPECT_EQ(best_exchange(weights, test.at("P").get<std::vector<std::int32_t>>(),
                            each.at("D").get<std::vector<float>>(), std::vector<bool>(8)),
              (PairExchange{each.at("a"), each.at("b"), each.at("g")}));
  }
}

TEST(Partition, CutsAsMxnetDoes) {
  for (const char* name : {"TestKernighanLin1", "TestKernighanLin2"}) {
    const Json test = mxnet_test(name);
    const LinkMatrix weights = matrix_of(test.at("W"));
    Partition partition(weights.gpus());
    std::vector<GroupPair> pairs;
    std::mt19937 random(1);
    EXPECT_EQ(cut_groups(weights, partition, pairs, random), test.at("stop")) << name;
    EXPECT_EQ(partition.groups, test.at("num_partitions")) << name;
    EXPECT_EQ(pairs, std::vector<GroupPair>({{0, 1}})) << name;
    // Which half keeps its number is left open.
    const auto expected = test.at("P_out_or_complement").get<std::vector<std::int32_t>>();
    std::vector<std::int32_t> complement;
    for (const std::int32_t group : expected)
      complement.push_back(1 - group);
    EXPECT_TRUE(partition.group == expected || partition.group == complement) << name;
  }
}

TEST(Partition, LeavesGroupsOfTwoWhole) {
  Partition partition(3);
  partition.group = {0, 1, 0};
  partition.groups = 2;
  std::vector<GroupPair> pairs;
  std::mt19937 random(1);
  EXPECT_TRUE(cut_groups(LinkMatrix(3), partition, pairs, random));
  EXPECT_EQ(pairs, std::vector<GroupPair>({{0, -2}, {1, -1}}));
  EXPECT_EQ(partition.groups, 2);
}

}  // namespace
}  // namespace steptime
