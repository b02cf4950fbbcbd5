#include "sim/servers/machine_with_servers.h"

#include "sim/core/error.h"

#include <memory>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Workers are endpoints 0 to 3. Servers on nodes of their own come behind them, or behind the
/// hosts where nodes meet at servers beyond; servers beside workers are hosts.
TEST(MachineWithServers, HostsComeBeforeServers) {
  const Cluster cluster{.nodes = 2, .gpus_per_node = 2};
  Aggregation aggregation{.servers = {.count = 3, .placement = &own_nodes()}};
  EXPECT_FALSE(has_hosts(aggregation));
  EXPECT_EQ(server_end(cluster, aggregation, 2), 6);
  EXPECT_EQ(machine_with_servers(cluster, aggregation).endpoints(), 7);
  aggregation.servers.placement = &with_workers();
  EXPECT_TRUE(has_hosts(aggregation));
  EXPECT_EQ(host_end(cluster, aggregation, 1), 5);
  EXPECT_EQ(server_end(cluster, aggregation, 2), 4);  // host 2 mod 2
  EXPECT_EQ(machine_with_servers(cluster, aggregation).endpoints(), 6);
  aggregation.beyond = ServersBeyond{.servers = {.count = 3, .placement = &own_nodes()}};
  EXPECT_TRUE(has_hosts(aggregation));
  EXPECT_EQ(server_end(cluster, aggregation, 2), 8);
  EXPECT_EQ(machine_with_servers(cluster, aggregation).endpoints(), 9);
}

TEST(MachineWithServers, HostsMustBeInTheGraph) {
  Cluster cluster{.nodes = 1, .gpus_per_node = 1};
  auto node = std::make_shared<Topology>();
  node->add_vertex("g", VertexKind::kGpu);
  cluster.node = node;
  const Aggregation aggregation{.servers = {.count = 1, .placement = &with_workers()}};
  try {
    machine_with_servers(cluster, aggregation);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "/cluster/node: servers on the workers' hosts, but the node has no vertex of kind "
                 "\"host-memory\"");
  }
}

}  // namespace
}  // namespace steptime
