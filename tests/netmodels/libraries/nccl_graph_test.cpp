// How many rings do the links of real machines carry?
#include "netmodels/libraries/nccl_graph.h"

#include "tests/support/presets.h"

#include <cstdint>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// NVLinks of a DGX-1 with V100 (and of p3.16xlarge).
const std::vector<std::vector<int>> kDgx1V{{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0},
                                           {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
                                           {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
                                           {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};

/// A GPU of n >= 3 needs two links per ring, and each ring runs both ways: at most as many rings as
/// the poorest GPU has links. 8: all six links of all GPUs. 4: four each. GPU 4 alone of the other
/// quad has links to GPU 0 only.
TEST(NcclGraph, RingsOfADgx1) {
  const std::int64_t expected[] = {0, 0, 1, 2, 4, 0, 2, 4, 6};
  for (std::int64_t gpus = 1; gpus <= 8; ++gpus)
    EXPECT_EQ(nvlink_rings(kDgx1V, gpus), expected[gpus]) << gpus;
}

/// GPU 4 hangs on GPU 0 by two links: a ring goes 0 - 4 - (0) - x, over one of them both ways. A
/// GPU without links is out of reach.
TEST(NcclGraph, GpusPassDataOnWhereNoRingCloses) {
  EXPECT_EQ(transit_rings(kDgx1V, 5), 2);
  EXPECT_EQ(transit_rings(kDgx1V, 2), 0);
  EXPECT_EQ(transit_rings(std::vector<std::vector<int>>{{0, 1, 0}, {1, 0, 0}, {0, 0, 0}}, 3), 0);
  // A chain of three: there over the middle, back through it.
  EXPECT_EQ(transit_rings(std::vector<std::vector<int>>{{0, 1, 0}, {1, 0, 1}, {0, 1, 0}}, 3), 1);
}

/// Two cliques without a link between them.
TEST(NcclGraph, AHopelessSearchEnds) {
  std::vector<std::vector<int>> matrix(9, std::vector<int>(9, 0));
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 9; ++j)
      matrix[i][j] = i != j && (i < 4) == (j < 4) ? 3 : 0;
  }
  EXPECT_EQ(transit_rings(matrix, 9), 0);
}

TEST(NcclGraph, ManyGpusAreCountedByDegree) {
  const std::vector<std::vector<int>> all(16, std::vector<int>(16, 1));
  std::vector<std::vector<int>> matrix = all;
  for (std::size_t i = 0; i < 16; ++i)
    matrix[i][i] = 0;
  EXPECT_EQ(nvlink_rings(matrix, 16), 14);  // 15 links each, 7 pairs of them
}

Cluster dgx1(std::int64_t nodes, std::int64_t gpus) {
  Cluster cluster{.nodes = nodes,
                  .gpus_per_node = gpus,
                  .network = {Duration{}, Bandwidth{12.5e9}},
                  .intra_node = {Duration{}, Bandwidth{10e9}}};
  cluster.gpus = GpuNode{.links = GpuNode::Links::kNvlink,
                         .link_bandwidth = {22e9},
                         .matrix = kDgx1V,
                         .pcie_bandwidth = {11e9},
                         .compute_capability = 70};
  return cluster;
}

TEST(NcclGraph, InsideANodeTheLinksCount) {
  const NcclGraph graph = nccl_graph(dgx1(1, 8));
  EXPECT_EQ(graph.ranks, 8);
  EXPECT_EQ(graph.channels, 6);
  EXPECT_EQ(graph.channel_gbps, 22);
  EXPECT_TRUE(graph.nvlink);
}

TEST(NcclGraph, WithoutARingOverNvlinkPcieCarriesOne) {
  const NcclGraph graph = nccl_graph(dgx1(1, 5));
  EXPECT_EQ(graph.channels, 1);
  EXPECT_EQ(graph.channel_gbps, 11);
  EXPECT_FALSE(graph.nvlink);
  const NcclGraph transit = nccl_graph(dgx1(1, 5), 2008000);
  EXPECT_EQ(transit.channels, 2);
  EXPECT_EQ(transit.channel_gbps, 22);
}

TEST(NcclGraph, BetweenNodesTheNetworkLimits) {
  EXPECT_EQ(nccl_graph(dgx1(2, 8)).channel_gbps, 12.5);
  EXPECT_EQ(nccl_graph(dgx1(2, 5)).channel_gbps, 11);  // PCIe is slower still
  EXPECT_EQ(nccl_graph(dgx1(2, 1)).channel_gbps, 12.5);
  EXPECT_TRUE(nccl_graph(dgx1(2, 1)).nvlink);
  EXPECT_EQ(nccl_graph(dgx1(2, 1)).network_gbps, 12.5);
  EXPECT_EQ(nccl_graph(dgx1(1, 8)).network_gbps, 0);
}

TEST(NcclGraph, UnknownGpusAreJoinedByTheIntraNodeLink) {
  Cluster cluster = dgx1(1, 8);
  cluster.gpus.reset();
  EXPECT_EQ(nccl_graph(cluster).channel_gbps, 10);
  EXPECT_FALSE(nccl_graph(cluster).nvlink);
}

TEST(NcclGraph, AnNvswitchGivesOneRingPerLink) {
  Cluster cluster = dgx1(1, 8);
  cluster.gpus = GpuNode{.links = GpuNode::Links::kNvswitch,
                         .link_bandwidth = {22e9},
                         .links_per_gpu = 12,
                         .compute_capability = 80,
                         .cpu = GpuNode::Cpu::kAmd};
  EXPECT_EQ(nccl_graph(cluster).channels, 12);
  EXPECT_TRUE(nccl_graph(cluster).amd);
}

/// 18 links of 20 GB/s. Rings: 6 of 60, halved: 12 of 30. NVLS over g GPUs: g channels, of which a
/// GPU's links carry g + 1: 9 x 40 = 360, 5 x 60 <= 360, 3 x 60 <= 360.
TEST(NcclGraph, HopperTakesItsSpeedsFromAList) {
  Cluster cluster = dgx1(1, 8);
  cluster.gpus = GpuNode{.links = GpuNode::Links::kNvswitch,
                         .link_bandwidth = {20e9},
                         .links_per_gpu = 18,
                         .compute_capability = 90};
  EXPECT_EQ(nccl_graph(cluster).channels, 12);
  EXPECT_EQ(nccl_graph(cluster).channel_gbps, 30);
  EXPECT_EQ(nccl_graph(cluster).switch_gbps, 360);
  EXPECT_EQ(nccl_graph(cluster).nvls_gbps, 8 * 40);
  cluster.gpus_per_node = 4;
  EXPECT_EQ(nccl_graph(cluster).nvls_gbps, 4 * 60);
  cluster.gpus_per_node = 2;
  EXPECT_EQ(nccl_graph(cluster).nvls_gbps, 2 * 60);
  // 8 links (H800): 2 x 60 < 4 x 40 = 160, few and fast enough to be halved.
  cluster.gpus->links_per_gpu = 8;
  EXPECT_EQ(nccl_graph(cluster).channels, 8);
  EXPECT_EQ(nccl_graph(cluster).channel_gbps, 20);
}

/// A search has half of MAXCHANNELS rings at most, 16 of 32, whatever the links could carry; each
/// then becomes two channels.
TEST(NcclGraph, RingsAreAsManyAsThereAreChannelsFor) {
  Cluster cluster = dgx1(1, 8);
  cluster.gpus = GpuNode{.links = GpuNode::Links::kNvswitch,
                         .link_bandwidth = {20e18},
                         .links_per_gpu = 18,
                         .compute_capability = 90};
  EXPECT_EQ(nccl_graph(cluster).channels, 16);
  EXPECT_EQ(nccl_graph(cluster).channel_gbps, 60);
}

/// From 2.19 on links count as NCCL counts them: 20 GB/s of Ampere, 20.6 of Hopper from 2.22
/// on, 40.1 of Blackwell, whose list has 90 GB/s: 8 rings, used twice at half of it. NVLS: 9 x 40
/// of 370.8 GB/s on Hopper, 9 x 80 of 721.8 on Blackwell; between nodes the next speeds of the list
/// up to one that is twice as fast: 60, 90, and of a rack 20, 24, 30, 40.
TEST(NcclGraph, NewReleasesCountLinksAndTryTheListOfBlackwell) {
  Cluster cluster{.nodes = 1, .gpus_per_node = 8};
  cluster.gpus = GpuNode{.links = GpuNode::Links::kNvswitch,
                         .link_bandwidth = {22e9},
                         .links_per_gpu = 12,
                         .compute_capability = 80};
  EXPECT_EQ(nccl_graph(cluster, 2018003).channel_gbps, 22);
  EXPECT_EQ(nccl_graph(cluster, 2019003).channel_gbps, 20);
  cluster.gpus->links_per_gpu = 18;
  cluster.gpus->link_bandwidth = {25e9};
  cluster.gpus->compute_capability = 90;
  EXPECT_NEAR(nccl_graph(cluster, 2021005).switch_gbps, 18 * 20, 1e-9);
  EXPECT_NEAR(nccl_graph(cluster, 2022003).switch_gbps, 18 * 20.6, 1e-9);
  EXPECT_EQ(nccl_graph(cluster, 2022003).nvls_gbps, 8 * 40);
  EXPECT_EQ(nccl_graph(cluster, 2022003).nvls_channels, 8);
  EXPECT_EQ(nccl_graph(cluster, 2018003).nvls_between_gbps, 8 * 40);
  EXPECT_EQ(nccl_graph(cluster, 2022003).nvls_between_gbps, 8 * 60);
  cluster.gpus->link_bandwidth = {50e9};
  cluster.gpus->compute_capability = 100;
  const NcclGraph blackwell = nccl_graph(cluster, 2028009);
  EXPECT_NEAR(blackwell.switch_gbps, 18 * 40.1, 1e-9);
  EXPECT_EQ(blackwell.channels, 16);
  EXPECT_EQ(blackwell.channel_gbps, 45);
  EXPECT_EQ(blackwell.nvls_gbps, 8 * 80);
  EXPECT_EQ(blackwell.nvls_between_gbps, 8 * 90);
  // A rack of 72: NVLS has 32 channels at most, 33 x 20 of 721.8.
  cluster.gpus_per_node = 72;
  EXPECT_EQ(nccl_graph(cluster, 2028009).nvls_channels, 32);
  EXPECT_EQ(nccl_graph(cluster, 2028009).nvls_between_gbps, 32 * 40);
}

/// Six GPUs: 7 x 50 of 370.8 GB/s, which the list has from 2.19 on, before it 7 x 40.
TEST(NcclGraph, TheListOfHopperHasAnotherSpeedSince2_19) {
  Cluster cluster{.nodes = 1, .gpus_per_node = 6};
  cluster.gpus = GpuNode{.links = GpuNode::Links::kNvswitch,
                         .link_bandwidth = {20e9},
                         .links_per_gpu = 18,
                         .compute_capability = 90};
  EXPECT_EQ(nccl_graph(cluster, 2018003).nvls_gbps, 6 * 40);
  EXPECT_EQ(nccl_graph(cluster, 2019003).nvls_gbps, 6 * 50);
}

/// Pairs behind switches with 19 GB/s, 5 to their socket, 1.4 between sockets: a ring is as slow as
/// the narrowest link that it crosses.
TEST(NcclGraph, ARingOverPcieCrossesTheNodesLinks) {
  const auto gbps = [](std::int64_t gpus, int release) {
    return nccl_graph(preset_cluster("l40s", 1, gpus), release).channel_gbps;
  };
  EXPECT_EQ(gbps(2, 2027003), 19);
  EXPECT_EQ(gbps(4, 2027003), 5);
  EXPECT_EQ(gbps(8, 2027003), 1.4);
  EXPECT_EQ(gbps(8, 2018003), 24);
}

/// Its plug-in tells 75 us of EFA, whatever a message takes; InfiniBand's tells nothing.
TEST(NcclGraph, KnowsWhatAnAdapterTells) {
  EXPECT_EQ(nccl_graph(preset_cluster("p4de.24xlarge", 2, 8)).told_us, 75);
  EXPECT_EQ(nccl_graph(preset_cluster("dgx-h100", 2, 8)).told_us, 0);
}

/// As many channels as NICs, but no more than GPUs; what is inside is shared among them.
TEST(NcclGraph, EveryNicCarriesAChannel) {
  const auto graph = [](std::int64_t nics, std::int64_t gpus) {
    Cluster cluster = dgx1(2, gpus);
    auto node = std::make_shared<Topology>();
    for (std::int64_t i = 0; i < nics; ++i)
      node->add_vertex(fmt::format("nic{}", i), VertexKind::kNic);
    cluster.node = node;
    return nccl_graph(cluster);
  };
  EXPECT_EQ(graph(4, 8).channels, 4);
  EXPECT_EQ(graph(4, 8).channel_gbps, 12.5);
  EXPECT_EQ(graph(4, 2).channels, 2);
  EXPECT_EQ(graph(4, 2).channel_gbps, 11);  // one NVLink of 22 GB/s for two NICs
  EXPECT_EQ(graph(0, 8).channels, 1);
}

}  // namespace
}  // namespace steptime
