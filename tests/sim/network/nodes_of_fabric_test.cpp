#include "sim/network/nodes_of_fabric.h"

#include "tests/support/fabric.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Path = std::vector<ChannelId>;

/// Nodes 3 and 1 of a switch with four ports, whose channels 0 to 3 lead out and 4 to 7 in; what is
/// behind its own two ports is behind the four of the whole.
TEST(NodesOfFabric, NodesAreAtTheirOwnPorts) {
  Cluster cluster{.nodes = 2};
  cluster.fabric = [](const FabricUse& use) {
    return make_fabric(R"({"type": "switch"})", use.ports);
  };
  const Cluster part = at_nodes(cluster, {3, 1}, 4);
  const auto fabric = part.fabric({2, kPortLatency, kPortBandwidth});
  EXPECT_EQ(fabric->ports(), 2);
  EXPECT_EQ(fabric->channels().size(), 8U);
  EXPECT_EQ(route(*fabric, 0, 1), (Path{3, 5}));
  EXPECT_EQ(route(*fabric, 1, 0), (Path{1, 7}));
  const auto with_a_server = part.fabric({3, kPortLatency, kPortBandwidth});
  EXPECT_EQ(with_a_server->channel_count(), 10);
  EXPECT_EQ(route(*with_a_server, 0, 2), (Path{3, 9}));
}

TEST(NodesOfFabric, OneSwitchIsTheSameForAll) {
  EXPECT_FALSE(at_nodes({.nodes = 2}, {3, 1}, 4).fabric);
}

}  // namespace
}  // namespace steptime
