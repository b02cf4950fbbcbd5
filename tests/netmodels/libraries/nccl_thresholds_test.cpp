// Do 2.3.7 and 2.4.8 change protocol and algorithm where their sources do?
#include "netmodels/libraries/nccl_tuning.h"
#include "sim/config/json.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Release = NcclThresholds::Release;
constexpr auto kTree = NcclAlgorithm::kTree;
constexpr auto kRing = NcclAlgorithm::kRing;
constexpr auto kLl = NcclProtocol::kLl;
constexpr auto kSimple = NcclProtocol::kSimple;

TEST(NcclThresholds, TreeThresholdsEqualTheIndependentEvaluation) {
  const std::string file = STEPTIME_SOURCE_DIR "/tests/data/nccl_model.json";
  const Json cases = parse_json(read_file(file), file).at("tree_threshold_2_4_8");
  for (const Json& each : cases) {
    const auto threshold = static_cast<double>(NcclThresholds::tree_threshold(
        each.at("nnodes").get<std::int64_t>(), each.at("nranks").get<std::int64_t>(),
        each.at("nChannels").get<std::int64_t>(), each.at("nvlink").get<bool>()));
    // The evaluation is in double precision; in NCCL's single one some are cut to a byte less.
    EXPECT_NEAR(threshold, each.at("treeThreshold_bytes").get<double>(), 1);
  }
}

/// 8 ranks, one ring, 256 threads of 64 B: LL up to 128 KiB; 32 B before Volta: up to 64 KiB.
TEST(NcclThresholds, OneRingLeavesLlAt64BytesAThread) {
  for (const Release release : {Release::k2_3_7, Release::k2_4_8}) {
    const NcclThresholds thresholds(release);
    NcclGraph graph{.ranks = 8, .nodes = 1, .compute_capability = 75};
    EXPECT_EQ(thresholds.choose(graph, 131072).protocol, kLl);
    EXPECT_EQ(thresholds.choose(graph, 131073).protocol, kSimple);
    graph.compute_capability = 61;
    EXPECT_EQ(thresholds.choose(graph, 65536).protocol, kLl);
    EXPECT_EQ(thresholds.choose(graph, 65537).protocol, kSimple);
    graph.nodes = 8;  // doubled between nodes; here trees are no faster: 6 x 7 <= 15 x 3
    EXPECT_EQ(thresholds.choose(graph, 131072).protocol, kLl);
    EXPECT_EQ(thresholds.choose(graph, 131073).protocol, kSimple);
    EXPECT_EQ(thresholds.choose(graph, 8).algorithm, kRing);
  }
}

/// 8 ranks, 6 rings over NVLink, each used twice. 2.3.7, 64 threads: a ring takes 8 x 64 x 8 = 4
/// KiB in LL, at most 4 rings; 128 threads: 8 KiB; 256 threads: 16 KiB, and rings up to 12.
TEST(NcclThresholds, RingsJoinAsTheMessageGrows) {
  const NcclThresholds thresholds(Release::k2_3_7);
  const NcclGraph graph{.ranks = 8, .nodes = 1, .channels = 6, .nvlink = true};
  EXPECT_EQ(thresholds.choose(graph, 4096).channels, 1);
  EXPECT_EQ(thresholds.choose(graph, 4097).channels, 2);
  EXPECT_EQ(thresholds.choose(graph, 16384).channels, 4);
  EXPECT_EQ(thresholds.choose(graph, 16385).channels, 3);  // 128 threads: 8 KiB a ring
  EXPECT_EQ(thresholds.choose(graph, 32769).channels, 3);  // 256 threads: 16 KiB a ring
  EXPECT_EQ(thresholds.choose(graph, 12 * 131072).protocol, kLl);
  EXPECT_EQ(thresholds.choose(graph, 12 * 131072 + 1).protocol, kSimple);
}

/// 2 nodes of 8: the tree's load on the network is half a ring's, so it wins at every size.
TEST(NcclThresholds, TwoNodesOfManyGpusAlwaysTakeTrees) {
  const NcclThresholds thresholds(Release::k2_4_8);
  const NcclGraph graph{.ranks = 16, .nodes = 2, .channels = 2, .nvlink = true};
  EXPECT_EQ(thresholds.choose(graph, 8).algorithm, kTree);
  EXPECT_EQ(thresholds.choose(graph, std::int64_t{1} << 40).algorithm, kTree);
  EXPECT_EQ(NcclThresholds(Release::k2_3_7).choose(graph, 8).algorithm, kRing);
}

TEST(NcclThresholds, StepsHoldEveryChange) {
  const NcclGraph graph{.ranks = 32, .nodes = 4, .channels = 2, .nvlink = true};
  const NcclThresholds thresholds(Release::k2_4_8);
  const auto steps = thresholds.sizes_of_steps(graph);
  NcclChoice before = thresholds.choose(graph, 0);
  for (std::int64_t bytes = 1; bytes < 4'000'000; ++bytes) {
    const NcclChoice now = thresholds.choose(graph, bytes);
    const bool changed = now.algorithm != before.algorithm || now.protocol != before.protocol ||
                         now.channels != before.channels;
    if (changed) {
      EXPECT_NE(std::find(steps.begin(), steps.end(), bytes), steps.end()) << bytes;
    }
    before = now;
  }
}

}  // namespace
}  // namespace steptime
