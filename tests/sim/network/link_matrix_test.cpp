#include "sim/network/link_matrix.h"

#include "tests/support/presets.h"
#include "tests/support/trees.h"

#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Json mxnet_matrices() {
  return tree_cases("mxnet_topology_cases").at("matrices");
}

TEST(LinkMatrix, OfAP3IsWhatCudaReports) {
  const LinkMatrix codes = link_codes(preset_cluster("p3.16xlarge"));
  EXPECT_EQ(codes, matrix_of(mxnet_matrices().at("p3_16xlarge_attr_cuda9_0")));
  EXPECT_EQ(codes, link_codes(preset_cluster("dgx-1-v100")));
  EXPECT_EQ(link_weights(codes),
            matrix_of(mxnet_matrices().at("p3_16xlarge_used_weights_nvlink_only")));
}

TEST(LinkMatrix, IsTheSameWithoutAGraphOfTheNode) {
  Cluster cluster = preset_cluster("p3.16xlarge");
  const LinkMatrix codes = link_codes(cluster);
  cluster.node = nullptr;
  EXPECT_EQ(link_codes(cluster), codes);
  cluster.gpus = std::nullopt;
  EXPECT_EQ(link_codes(cluster).at(0, 3), kOverPcie);
}

TEST(LinkMatrix, WithCuda92LacksTheDoubleLinks) {
  const LinkMatrix codes = link_codes(preset_cluster("p3.16xlarge"));
  EXPECT_EQ(detected(codes, LinkDetection::kCuda92),
            matrix_of(mxnet_matrices().at("p3_16xlarge_attr_cuda9_2")));
  EXPECT_EQ(detected(codes, LinkDetection::kExact), codes);
}

TEST(LinkMatrix, RepairedEveryLinkCountsAsSingle) {
  // As on a DGX-1 with P100, where there is nothing to repair.
  const LinkMatrix codes = link_codes(preset_cluster("p3.16xlarge"));
  const auto single = matrix_of(mxnet_matrices().at("dgx1_p100_all_single_nvlink_weights"));
  EXPECT_EQ(link_weights(detected(codes, LinkDetection::kRepaired)), single);
  const LinkMatrix p100 = link_codes(preset_cluster("dgx-1-p100"));
  EXPECT_EQ(link_weights(p100), single);
  EXPECT_EQ(detected(p100, LinkDetection::kRepaired), p100);
}

TEST(LinkMatrix, RepairedItsDiagonalIsTakenForPcie) {
  // 0 and 1 of a p3 have one NVLink, 6 and 7 two; PCIe between the pairs weighs 1/4, as do, after
  // the repair, the GPUs themselves.
  const std::vector<Gpu> gpus{0, 1, 6, 7};
  const LinkMatrix codes = link_codes(preset_cluster("p3.16xlarge")).of(gpus);
  EXPECT_EQ(link_weights(codes),
            (LinkMatrix{{0, 2, .25, .25}, {2, 0, .25, .25}, {.25, .25, 0, 3}, {.25, .25, 3, 0}}));
  EXPECT_EQ(
      link_weights(detected(codes, LinkDetection::kRepaired)),
      (LinkMatrix{{.25, 2, .25, .25}, {2, .25, .25, .25}, {.25, .25, .25, 2}, {.25, .25, 2, .25}}));
}

TEST(LinkMatrix, SeesAnNvswitchAsLinksBetweenAll) {
  const LinkMatrix codes = link_codes(preset_cluster("dgx-a100"));
  for (Gpu i = 0; i < 8; ++i) {
    for (Gpu j = 0; j < 8; ++j)
      EXPECT_EQ(codes.at(i, j), i == j ? 0 : kTwoNvlinks);
  }
}

TEST(LinkMatrix, OfMinskyJoinsTheTwoGpusOfASocket) {
  EXPECT_EQ(link_codes(preset_cluster("minsky")),
            (LinkMatrix{{0, 3, 1, 1}, {3, 0, 1, 1}, {1, 1, 0, 3}, {1, 1, 3, 0}}));
}

TEST(LinkMatrix, TakesTheFirstGpusOfTheMachine) {
  EXPECT_EQ(link_codes(preset_cluster("p3.16xlarge", 1, 3)),
            (LinkMatrix{{0, 2, 2}, {2, 0, 3}, {2, 3, 0}}));
}

TEST(LinkMatrix, KnowsWhetherNvlinksJoinAll) {
  for (const Json& test : mxnet_cases("TestIsConnected1-3"))
    EXPECT_EQ(joined_by_nvlink(matrix_of(test.at("W"))), test.at("connected")) << test;
}

TEST(LinkMatrix, PermutedByNothingIsTheSame) {
  // TestPermuteMatrix.
  std::vector<Gpu> identity(8);
  std::iota(identity.begin(), identity.end(), 0);
  EXPECT_EQ(p3_weights().of(identity), p3_weights());
}

}  // namespace
}  // namespace steptime
