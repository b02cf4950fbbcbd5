// Are NCCL's estimates from 2.19 on those of its published tables?
#include "netmodels/libraries/nccl_revised.h"

#include "netmodels/libraries/nccl_tuning.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr auto kTree = NcclAlgorithm::kTree;
constexpr auto kRing = NcclAlgorithm::kRing;
constexpr auto kNvls = NcclAlgorithm::kNvls;
constexpr auto kPat = NcclAlgorithm::kPat;
constexpr auto kLl = NcclProtocol::kLl;
constexpr auto kLl128 = NcclProtocol::kLl128;
constexpr auto kSimple = NcclProtocol::kSimple;
using Release = NcclTuning::Release;

/// 8 GPUs of a node: 12 rings of 30 GB/s, NVLS with 8 channels of 40 GB/s, 60 between nodes.
NcclGraph hopper(Operation operation = Operation::kAllReduce) {
  return {.ranks = 8,
          .channels = 12,
          .channel_gbps = 30,
          .nvlink = true,
          .compute_capability = 90,
          .switch_gbps = 360,
          .nvls_gbps = 320,
          .nvls_between_gbps = 480,
          .nvls_channels = 8,
          .operation = operation};
}
NcclGraph blackwell(std::int64_t nodes) {
  return {.ranks = 8 * nodes,
          .nodes = nodes,
          .channels = 16,
          .channel_gbps = 45,
          .nvlink = true,
          .compute_capability = 100,
          .nic_near_gpu = true,
          .switch_gbps = 721.8,
          .nvls_gbps = 640,
          .nvls_channels = 8};
}

double gbps(Release release, const NcclGraph& graph, NcclAlgorithm a, NcclProtocol p) {
  return NcclRevision(release).algorithm_gbps(graph, a, p);
}
double latency(Release release, const NcclGraph& graph, NcclAlgorithm a, NcclProtocol p) {
  return NcclRevision(release).latency_us(graph, a, p);
}

/// 14 steps. LL 6.6 + 14 x .6, LL128 14 + 14 x 1.9, Simple 8.4 + 14 x 3.4. Of 360 GB/s LL may have
/// 87.7 (a quarter is 90), from 2.21 on 141 (half is 180); LL128 .92 of it; times 8 / 14.
TEST(NcclRevised, RingsInANode) {
  EXPECT_NEAR(latency(Release::k2_19_3, hopper(), kRing, kLl), 15.0, 1e-9);
  EXPECT_NEAR(latency(Release::k2_30_3, hopper(), kRing, kLl128), 40.6, 1e-9);
  EXPECT_NEAR(latency(Release::k2_30_3, hopper(), kRing, kSimple), 56.0, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_19_3, hopper(), kRing, kLl), 87.7 * 8 / 14, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_21_5, hopper(), kRing, kLl), 141.0 * 8 / 14, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_21_5, hopper(), kRing, kLl128), 331.2 * 8 / 14, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_21_5, hopper(), kRing, kSimple), 360.0 * 8 / 14, 1e-9);
}

/// Half the steps: 6.6 + 7 x .6, and 8 / 7 of the rings. Before 2.21 LL had a third of them, 120
/// GB/s but at most 87.7.
TEST(NcclRevised, AnAllGatherTakesHalfTheSteps) {
  const NcclGraph graph = hopper(Operation::kAllGather);
  EXPECT_NEAR(latency(Release::k2_27_3, graph, kRing, kLl), 10.8, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_27_3, graph, kRing, kLl), 141.0 * 8 / 7, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_27_3, graph, kRing, kSimple), 360.0 * 8 / 7, 1e-9);
  EXPECT_EQ(gbps(Release::k2_27_3, graph, kTree, kSimple), 0);
  NcclGraph slow = graph;
  slow.channels = 6;
  EXPECT_NEAR(gbps(Release::k2_19_3, slow, kRing, kLl), 60.0 * 8 / 7, 1e-9);
  slow.operation = Operation::kAllReduce;
  EXPECT_NEAR(gbps(Release::k2_19_3, slow, kRing, kLl), 45.0 * 8 / 14, 1e-9);
}

/// Trees with Simple: 2 x 7 hops of 28 us, from 2.23 on 8.4 us and hops of 4 us. Bandwidth: 360 x
/// .92 = 331.2 GB/s, plain trees .85 of it, twice through each link.
TEST(NcclRevised, TreesGotFasterWith2_23) {
  EXPECT_NEAR(latency(Release::k2_21_5, hopper(), kTree, kSimple), 392, 1e-9);
  EXPECT_NEAR(latency(Release::k2_23_4, hopper(), kTree, kSimple), 64.4, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_23_4, hopper(), kTree, kSimple), 331.2 * .85 / 2, 1e-9);
}

/// 2.19: 23 us and 5/6 of 320 GB/s. 2.28: 40 x .85 x 7/8 x 2 = 59.5 GB/s a channel, but at most its
/// speed of 40 (as between nodes, whose speed is the same), times 8 and 8 / 14.
TEST(NcclRevised, NvlsInANode) {
  EXPECT_NEAR(latency(Release::k2_19_3, hopper(), kNvls, kSimple), 23, 1e-9);
  EXPECT_NEAR(latency(Release::k2_21_5, hopper(), kNvls, kSimple), 25, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_19_3, hopper(), kNvls, kSimple), 320 * 5.0 / 6, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_28_3, hopper(), kNvls, kSimple), 476.0 * 8 / 14, 1e-9);
  EXPECT_EQ(gbps(Release::k2_28_3, hopper(), kNvls, kLl), 0);
  // All-gather: 5/6 at first, then all of it, then 7/8, and by its efficiency.
  const NcclGraph gather = hopper(Operation::kAllGather);
  EXPECT_NEAR(gbps(Release::k2_21_5, gather, kNvls, kSimple), 320 * 5.0 / 6, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_23_4, gather, kNvls, kSimple), 320, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_27_3, gather, kNvls, kSimple), 280, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_28_3, gather, kNvls, kSimple), 320 * .85 * 7 / 8 * 7 / 8, 1e-9);
}

/// Two nodes: 25 + 2 x 14 us, then 2 x 20.9. Four: another level. 8 channels of 80 GB/s: 80 x .74 x
/// 7/8 x 2 = 103.6 within the node, twice 80 between, at most 96 a channel; on four
/// nodes 43.1, 43.8, and 80 from 2.30.3 on. Times 16 / 30 and 32 / 62.
TEST(NcclRevised, NvlsTreesBetweenNodes) {
  EXPECT_NEAR(latency(Release::k2_28_3, blackwell(2), kNvls, kSimple), 53, 1e-9);
  EXPECT_NEAR(latency(Release::k2_28_9, blackwell(4), kNvls, kSimple), 25 + 4 * 20.9, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_28_3, blackwell(2), kNvls, kSimple), 8 * 96.0 * 16 / 30, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_28_3, blackwell(4), kNvls, kSimple), 8 * 43.1 * 32 / 62, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_28_9, blackwell(4), kNvls, kSimple), 8 * 43.8 * 32 / 62, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_30_3, blackwell(4), kNvls, kSimple), 8 * 80.0 * 32 / 62, 1e-9);
  // 2.27: half of the speed on more than two nodes.
  EXPECT_NEAR(gbps(Release::k2_27_3, blackwell(4), kNvls, kSimple), 320 * 5.0 / 6, 1e-9);
}

/// A channel of Blackwell's LL128: as Hopper's 36.7 GB/s before it had a row, then 73.4 (above 45 x
/// .92), 34.6 on two nodes, 34.5 on one, and 40.
TEST(NcclRevised, Ll128OfBlackwell) {
  const auto bus = [](Release release, std::int64_t nodes) {
    return NcclRevision(release).bus_gbps(blackwell(nodes), kRing, kLl128) / 16;
  };
  EXPECT_NEAR(bus(Release::k2_24_3, 1), 36.7, 1e-9);
  EXPECT_NEAR(bus(Release::k2_25_1, 1), 41.4, 1e-9);
  EXPECT_NEAR(bus(Release::k2_28_9, 1), 41.4, 1e-9);
  EXPECT_NEAR(bus(Release::k2_28_9, 2), 34.6, 1e-9);
  EXPECT_NEAR(bus(Release::k2_29_2, 1), 34.5, 1e-9);
  EXPECT_NEAR(bus(Release::k2_29_2, 2), 34.6, 1e-9);
  EXPECT_NEAR(bus(Release::k2_29_7, 4), 40, 1e-9);
  // It is off before 2.25, and on for every GPU from 7.0 on from 2.27 on.
  EXPECT_EQ(gbps(Release::k2_24_3, blackwell(1), kRing, kLl128), 0);
  NcclGraph turing = hopper();
  turing.compute_capability = 75;
  EXPECT_EQ(gbps(Release::k2_25_1, turing, kRing, kLl128), 0);
  EXPECT_GT(gbps(Release::k2_27_3, turing, kRing, kLl128), 0);
}

/// 16 nodes of one GPU: 8 + 4 x 14 / 3.5 + 16 x 2.8 us; .85 of 40 GB/s, then .75.
TEST(NcclRevised, PatIsForOneGpuANode) {
  NcclGraph graph{.ranks = 16,
                  .nodes = 16,
                  .channels = 1,
                  .channel_gbps = 40,
                  .operation = Operation::kReduceScatter};
  EXPECT_NEAR(latency(Release::k2_23_4, graph, kPat, kSimple), 68.8, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_23_4, graph, kPat, kSimple), 34, 1e-9);
  EXPECT_NEAR(gbps(Release::k2_24_3, graph, kPat, kSimple), 30, 1e-9);
  EXPECT_EQ(gbps(Release::k2_21_5, graph, kPat, kSimple), 0);
  graph.ranks = 32;
  EXPECT_EQ(gbps(Release::k2_24_3, graph, kPat, kSimple), 0);
  graph.ranks = 16;
  graph.operation = Operation::kAllReduce;
  EXPECT_EQ(gbps(Release::k2_24_3, graph, kPat, kSimple), 0);
}

/// 2 nodes of 8: 30 steps, of which 2 x 2 cross nodes before 2.23 and 2 x 1 since; LL: 6.6 + 26 x 1
/// + 4 x 2.7 us (a post takes 1 us), 6.6 + 28 + 2 x 2.7.
TEST(NcclRevised, FewerStepsCrossNodesSince2_23) {
  NcclGraph graph = hopper();
  graph.ranks = 16;
  graph.nodes = 2;
  EXPECT_NEAR(latency(Release::k2_21_5, graph, kRing, kLl), 43.4, 1e-9);
  EXPECT_NEAR(latency(Release::k2_23_4, graph, kRing, kLl), 40.0, 1e-9);
}

/// What an adapter tells is in every crossing, twice with Simple: rings 6.6 + 28 + 2 x (2.7 + 75)
/// us with LL; trees 8.4 + 2 x (7 x 4 + 14 + 150) with Simple; NVLS trees 25 + 2 x (14 + 150).
TEST(NcclRevised, CountsWhatTheAdapterTells) {
  NcclGraph graph = hopper();
  graph.ranks = 16;
  graph.nodes = 2;
  graph.told_us = 75;
  EXPECT_NEAR(latency(Release::k2_23_4, graph, kRing, kLl), 190, 1e-9);
  EXPECT_NEAR(latency(Release::k2_23_4, graph, kTree, kSimple), 392.4, 1e-9);
  EXPECT_NEAR(latency(Release::k2_23_4, graph, kNvls, kSimple), 353, 1e-9);
}

/// NVLS trees of Blackwell are corrected from 2.29.2 on: at 1 MiB, 64 B x 2^14, Simple counts half.
TEST(NcclRevised, NvlsTreesAreCorrectedSince2_29_2) {
  const std::int64_t bytes = 1 << 20;
  const NcclGraph graph = blackwell(2);
  const double whole = gbps(Release::k2_29_2, graph, kNvls, kSimple);
  const auto us = [&](Release release) {
    return NcclRevision(release).time_us(graph, kNvls, kSimple, bytes);
  };
  EXPECT_NEAR(us(Release::k2_28_9), 66.8 + 1048.576 / whole, 1e-9);
  EXPECT_NEAR(us(Release::k2_29_2), 66.8 + 1048.576 / (whole / 2), 1e-9);
  // 512 MiB is 64 B x 2^23: the 24th entry, .9.
  EXPECT_NEAR(NcclRevision(Release::k2_29_2).time_us(graph, kNvls, kSimple, 1LL << 29),
              66.8 + (1LL << 29) / (1000 * .9 * whole), 1e-9);
}

}  // namespace
}  // namespace steptime
