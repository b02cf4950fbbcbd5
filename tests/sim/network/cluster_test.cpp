// Clusters as collectives find them while kernels run.
#include "sim/network/cluster.h"

#include "sim/network/machine.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Two GPUs on a switch, 8 GB/s each, and an adapter of 6 GB/s.
std::shared_ptr<const Topology> node_with_adapter() {
  auto node = std::make_shared<Topology>();
  const auto first = node->add_vertex("g0", VertexKind::kGpu);
  const auto second = node->add_vertex("g1", VertexKind::kGpu);
  const auto pcie = node->add_vertex("switch", VertexKind::kPcieSwitch);
  const auto nic = node->add_vertex("nic", VertexKind::kNic);
  node->add_link({first, pcie, Duration(1), {8e9}, 1, ""});
  node->add_link({second, pcie, Duration(2), {8e9}, 1, ""});
  node->add_link({pcie, nic, Duration(4), {6e9}, 1, ""});
  return node;
}

// The adapter's own link, 4 and 5, leads to no GPU; what goes to it crosses that of a GPU. Between
// nodes the narrowest link is then that, 8 GB/s / 4.
TEST(Cluster, BesideKernelsLinksOfAGraphBetweenGpusAreSlower) {
  Cluster cluster;
  cluster.nodes = 2;
  cluster.gpus_per_node = 2;
  cluster.network = {Duration(8), {7e9}};
  cluster.intra_node = cluster.network;
  cluster.node = node_with_adapter();
  cluster.intra_node_beside_kernels = 4;
  cluster.gpu_to_gpu = link_over_nics(cluster);
  EXPECT_EQ(cluster.gpu_to_gpu->bandwidth, Bandwidth{6e9});
  const Cluster slower = cluster.beside_kernels();
  const std::vector<Channel> channels = Machine(slower).channels();
  for (std::size_t c = 0; c < 4; ++c)
    EXPECT_EQ(channels[c].bandwidth, Bandwidth{2e9}) << c;
  EXPECT_EQ(channels[4].bandwidth, Bandwidth{6e9});
  EXPECT_EQ(channels[5].bandwidth, Bandwidth{6e9});
  EXPECT_EQ(slower.gpu_to_gpu->bandwidth, Bandwidth{2e9});
  EXPECT_EQ(slower.gpu_to_gpu->latency, Duration(2 * (1 + 4) + 8));
  EXPECT_EQ(Machine(cluster).channels()[0].bandwidth, Bandwidth{8e9});
}

}  // namespace
}  // namespace steptime
