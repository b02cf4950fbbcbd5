#include "sim/network/machine.h"

#include "sim/core/error.h"
#include "tests/support/play.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::vector<ChannelId> path(const Machine& machine, Endpoint from, Endpoint to) {
  std::vector<ChannelId> path;
  machine.route(from, to, path);
  return path;
}

Duration latency(const Machine& machine, Endpoint from, Endpoint to) {
  Duration sum{};
  for (const ChannelId c : path(machine, from, to))
    sum += machine.channels()[c].latency;
  return sum;
}

TEST(Machine, OneGpuPerNodeIsAPortOfTheFabric) {
  const Machine machine(star_cluster(3));
  EXPECT_EQ(machine.endpoints(), 3);
  EXPECT_EQ(path(machine, 0, 2), (std::vector<ChannelId>{0, 5}));
  EXPECT_EQ(path(machine, 1, 1), std::vector<ChannelId>{});
  EXPECT_EQ(latency(machine, 0, 2), std::chrono::microseconds(50));
}

TEST(Machine, GpusOfANodeShareItsNic) {
  //  Channels of node k: 4 k + {out 0, out 1, in 0, in 1}; then the fabric's: 8, 9 out, 10, 11 in.
  Cluster cluster = star_cluster(2);
  cluster.gpus_per_node = 2;
  cluster.intra_node = {std::chrono::microseconds(3), {1e10}};
  const Machine machine(cluster);
  EXPECT_EQ(path(machine, 0, 1), (std::vector<ChannelId>{0, 3}));
  EXPECT_EQ(latency(machine, 0, 1), std::chrono::microseconds(3));
  EXPECT_EQ(path(machine, 3, 2), (std::vector<ChannelId>{5, 6}));
  EXPECT_EQ(path(machine, 0, 3), (std::vector<ChannelId>{8, 11}));
  EXPECT_EQ(path(machine, 1, 2), (std::vector<ChannelId>{8, 11}));
  EXPECT_EQ(latency(machine, 1, 2), std::chrono::microseconds(50));
}

// Without a graph, too, neighbours have an adapter in common: GPUs 0 and 1 of a node, 2 and 3.
// Eight channels in each of two nodes, and then 16 to 19 out of adapters, 20 to 23 into them.
TEST(Machine, GpusOfANodeUseTheAdaptersThatItsGpusSectionCounts) {
  Cluster cluster = star_cluster(2);
  cluster.gpus_per_node = 4;
  cluster.gpus.emplace().nics = 2;
  const Machine machine(cluster);
  EXPECT_EQ(path(machine, 1, 4), (std::vector<ChannelId>{16, 22}));
  EXPECT_EQ(path(machine, 7, 3), (std::vector<ChannelId>{19, 21}));
  // A lone GPU uses the first one.
  cluster.gpus_per_node = 1;
  EXPECT_EQ(path(Machine(cluster), 0, 1), (std::vector<ChannelId>{0, 6}));
}

TEST(Machine, GuestNodesComeAfterTheHosts) {
  // 2 nodes of 2 GPUs, 6 channels each: out 0, 1 and of the host, in 0, 1 and of the host.
  // Endpoints 4 and 5 are hosts, 6 is a guest, port 2 of the fabric: 12 to 14 out, 15 to 17 in.
  Cluster cluster = star_cluster(2);
  cluster.gpus_per_node = 2;
  const Machine machine(cluster, {.nodes = 1, .hosts = true});
  EXPECT_EQ(machine.endpoints(), 7);
  EXPECT_EQ(path(machine, 3, 5), (std::vector<ChannelId>{7, 11}));
  EXPECT_EQ(path(machine, 5, 6), (std::vector<ChannelId>{13, 17}));
  EXPECT_EQ(path(machine, 6, 0), (std::vector<ChannelId>{14, 15}));
}

TEST(Machine, KnowsWhereItsLinksAreEqual) {
  Machine star(star_cluster(3));
  ASSERT_TRUE(star.uniform(Pairs::kAny));
  EXPECT_EQ(star.uniform(Pairs::kAny)->latency, std::chrono::microseconds(50));
  star.set_bandwidth(0, {1});
  EXPECT_FALSE(star.uniform(Pairs::kAny));
  Cluster several = star_cluster(2);
  several.gpus_per_node = 2;
  EXPECT_FALSE(Machine(several).uniform(Pairs::kAny));
  EXPECT_TRUE(Machine(several).uniform(Pairs::kInNode));
  EXPECT_TRUE(Machine(several).uniform(Pairs::kBetweenNodes));
}

/// Two GPUs, each with a NIC of its own.
std::shared_ptr<Topology> two_rails() {
  auto node = std::make_shared<Topology>();
  for (const char* name : {"g0", "g1"})
    node->add_vertex(name, VertexKind::kGpu);
  for (const char* name : {"n0", "n1"})
    node->add_vertex(name, VertexKind::kNic);
  node->add_link({0, 1, std::chrono::microseconds(1), {20e9}});  // channels 0, 1
  node->add_link({0, 2, std::chrono::microseconds(2), {12e9}});  // 2, 3
  node->add_link({1, 3, std::chrono::microseconds(2), {12e9}});  // 4, 5
  return node;
}

TEST(Machine, RoutesThroughTheNodeGraphToTheNearestNic) {
  Cluster cluster = star_cluster(2);
  cluster.gpus_per_node = 2;
  cluster.node = two_rails();
  const Machine machine(cluster);
  // Node 0 has channels 0 to 5, node 1 has 6 to 11, the 4 ports of the fabric 12 to 15 out, 16 to
  // 19 in.
  EXPECT_EQ(path(machine, 0, 1), std::vector<ChannelId>{0});
  EXPECT_EQ(path(machine, 3, 2), std::vector<ChannelId>{7});
  EXPECT_EQ(path(machine, 0, 3), (std::vector<ChannelId>{2, 12, 19, 11}));
  EXPECT_EQ(path(machine, 3, 0), (std::vector<ChannelId>{10, 15, 16, 3}));
  EXPECT_EQ(latency(machine, 0, 3), std::chrono::microseconds(54));
  EXPECT_FALSE(machine.uniform(Pairs::kInNode));
}

TEST(Machine, KnowsWhatTheWaysOfAGpuToItsNeighboursCross) {
  const auto links = [](const Machine& machine, Endpoint worker) {
    std::vector<ChannelId> crossed;
    machine.to_neighbours(worker, crossed);
    return crossed;
  };
  // On one switch its own ports, of the second node behind those of the first; in the graph above
  // the link between both GPUs, in each direction, and none to an adapter.
  Cluster cluster = star_cluster(2);
  cluster.gpus_per_node = 2;
  EXPECT_EQ(links(Machine(cluster), 3), (std::vector<ChannelId>{5, 7}));
  cluster.node = two_rails();
  EXPECT_EQ(links(Machine(cluster), 0), (std::vector<ChannelId>{0, 1}));
  EXPECT_EQ(links(Machine(cluster), 3), (std::vector<ChannelId>{6, 7}));
  EXPECT_EQ(links(Machine(star_cluster(2)), 1), std::vector<ChannelId>{});
}

TEST(Machine, NeedsANicBetweenNodes) {
  Cluster cluster = star_cluster(2);
  auto node = std::make_shared<Topology>();
  node->add_vertex("g", VertexKind::kGpu);
  cluster.node = node;
  EXPECT_THROW(Machine{cluster}, InputError);
}

TEST(Machine, NeedsARouteBetweenAnyTwoGpus) {
  Cluster cluster = star_cluster(1);
  cluster.gpus_per_node = 2;
  auto node = std::make_shared<Topology>();
  node->add_vertex("g0", VertexKind::kGpu);
  node->add_vertex("g1", VertexKind::kGpu);
  cluster.node = node;
  try {
    const Machine machine(cluster);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "/cluster/node: no route from \"g0\" to \"g1\"");
  }
}

TEST(Machine, GuestNodesArePortsOfTheFabric) {
  Cluster cluster = star_cluster(1);
  cluster.gpus_per_node = 2;
  cluster.intra_node = {std::chrono::microseconds(3), {1e10}};
  const Machine machine(cluster, {.nodes = 2});
  // Channels: {out 0, out 1, in 0, in 1} of the node, then 3 ports out and 3 in.
  EXPECT_EQ(machine.endpoints(), 4);
  EXPECT_EQ(path(machine, 1, 2), (std::vector<ChannelId>{4, 8}));
  EXPECT_EQ(path(machine, 3, 0), (std::vector<ChannelId>{6, 7}));
  EXPECT_EQ(path(machine, 2, 3), (std::vector<ChannelId>{5, 9}));
  EXPECT_EQ(latency(machine, 1, 2), std::chrono::microseconds(50));
}

TEST(Machine, AHostIsOneMorePortOfItsNode) {
  const Machine machine(star_cluster(2), {.hosts = true});
  // Node k has 4 k + {GPU out, host out, GPU in, host in}; the fabric 8, 9 out and 10, 11 in.
  EXPECT_EQ(machine.endpoints(), 4);
  EXPECT_EQ(path(machine, 0, 2), (std::vector<ChannelId>{0, 3}));
  EXPECT_EQ(path(machine, 3, 1), (std::vector<ChannelId>{5, 6}));
  EXPECT_EQ(path(machine, 0, 3), (std::vector<ChannelId>{8, 11}));
  EXPECT_EQ(latency(machine, 0, 2), std::chrono::microseconds(50));
}

TEST(Machine, AHostMayBeAsWideAsSeveralLinks) {
  Cluster cluster = star_cluster(1);
  cluster.gpus_per_node = 4;
  const auto channels = Machine(cluster, {.hosts = true, .host_links = 2}).channels();
  const double link = cluster.intra_node.bandwidth.bytes_per_second;
  // GPUs 0 to 3 out, host out, GPUs in, host in.
  for (const std::size_t gpu : {0u, 3u, 5u, 8u})
    EXPECT_EQ(channels[gpu].bandwidth.bytes_per_second, link);
  for (const std::size_t host : {4u, 9u})
    EXPECT_EQ(channels[host].bandwidth.bytes_per_second, 2 * link);
}

TEST(Machine, AHostIsTheMemoryOfTheGraph) {
  Cluster cluster = star_cluster(1);
  auto node = std::make_shared<Topology>();
  node->add_vertex("m", VertexKind::kHostMemory);
  node->add_vertex("g", VertexKind::kGpu);
  node->add_link({0, 1, std::chrono::microseconds(1), {20e9}});
  cluster.node = node;
  const Machine machine(cluster, {.hosts = true});
  EXPECT_EQ(path(machine, 0, 1), std::vector<ChannelId>{1});
  EXPECT_EQ(path(machine, 1, 0), std::vector<ChannelId>{0});
}

TEST(Machine, FifoPortsAreThoseOfTheFabric) {
  Cluster cluster = star_cluster(2);
  cluster.fifo_ports = true;
  for (const Channel& channel : Machine(cluster).channels())
    EXPECT_TRUE(channel.fifo);
}

}  // namespace
}  // namespace steptime
