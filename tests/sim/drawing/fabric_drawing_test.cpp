// Does a fabric's picture have the switches and links that the fabric has?
#include "sim/drawing/fabric_drawing.h"

#include "tests/support/fabric.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

struct Size {
  std::int64_t switches = 0;
  std::size_t edges = 0;
};
Size size_of(const std::string& fabric, std::int64_t nodes, std::int64_t ports_per_node = 1) {
  const FabricGraph graph =
      graph_of(*make_fabric(fabric, nodes * ports_per_node), nodes, ports_per_node);
  return {graph.vertices - graph.nodes, graph.edges.size()};
}

TEST(FabricDrawing, ASwitchIsAStar) {
  const FabricGraph graph = graph_of(*make_fabric(R"({"type": "switch"})", 5), 5, 1);
  EXPECT_EQ(graph.vertices, 5 + 1);
  ASSERT_EQ(graph.edges.size(), 5U);
  EXPECT_EQ(graph.edges[0].first, 0);
  EXPECT_EQ(graph.edges[0].second, 5);
  EXPECT_EQ(graph.edges[0].count, 1);
  EXPECT_EQ(graph.edges[0].bandwidth, kPortBandwidth);
}

TEST(FabricDrawing, PortsOfANodeAreParallelLinks) {
  const FabricGraph graph = graph_of(*make_fabric(R"({"type": "switch"})", 6), 2, 3);
  ASSERT_EQ(graph.edges.size(), 2U);
  EXPECT_EQ(graph.edges[1].count, 3);
}

TEST(FabricDrawing, TwoNodesHaveOneSwitch) {
  EXPECT_EQ(graph_of(*make_fabric(R"({"type": "switch"})", 3), 2, 1).vertices, 2 + 1);
}

TEST(FabricDrawing, ARingHasNoSwitch) {
  EXPECT_EQ(size_of(R"({"type": "ring"})", 6).switches, 0);
  EXPECT_EQ(size_of(R"({"type": "ring"})", 6).edges, 6U);
}

// Radix 4: 4 pods of 2 edge and 2 aggregation switches, 4 core switches, 16 hosts: 16 links on each
// of three levels.
TEST(FabricDrawing, AWholeFatTree) {
  EXPECT_EQ(size_of(R"({"type": "fat-tree", "radix": 4})", 16).switches, 4 * 4 + 4);
  EXPECT_EQ(size_of(R"({"type": "fat-tree", "radix": 4})", 16).edges, 3U * 16);
}

// 3 groups of 4 routers in 2 rows, with 2 hosts each: 24 links to hosts, 4 in each group (a
// square), 3 between groups.
TEST(FabricDrawing, AWholeDragonfly) {
  const std::string fabric =
      R"({"type": "dragonfly", "groups": 3, "routers": 4, "rows": 2, "hosts": 2})";
  EXPECT_EQ(size_of(fabric, 24).switches, 3 * 4);
  EXPECT_EQ(size_of(fabric, 24).edges, 24U + 3 * 4 + 3);
}

TEST(FabricDrawing, IsGraphviz) {
  const auto picture = [](std::int64_t nodes) {
    return drawing(graph_of(*make_fabric(R"({"type": "switch"})", nodes), nodes, 1));
  };
  const std::string small = picture(3);
  EXPECT_EQ(small.substr(0, 30), "graph fabric {\n  layout=dot; r") << small;
  EXPECT_NE(small.find("  node2 -- switch0 ["), std::string::npos) << small;
  // Many nodes stand in their switch.
  EXPECT_NE(picture(40).find("  switch0 [label=\"switch0\\nnode0, 1, 2"), std::string::npos);
  EXPECT_EQ(picture(40).find("--"), std::string::npos);
}

/// Two leaves with two nodes each at a spine: the names of the three are the config's.
TEST(FabricDrawing, SwitchesHaveTheNamesOfTheConfig) {
  const FabricGraph graph = graph_of(*make_fabric(R"({"type": "graph", "vertices": [
      {"name": "spine \"a\"", "ports": 0}, {"name": "leaf1", "ports": 2}, {"name": "leaf0", "ports": 2}],
      "links": [{"ends": ["leaf0", "spine \"a\""], "latency": "1 us", "bandwidth": "3 GB/s"},
                {"ends": ["spine \"a\"", "leaf1"], "latency": "1 us", "bandwidth": "3 GB/s"}]})",
                                                  4),
                                     4, 1);
  std::map<std::string, std::set<std::string>> neighbours;
  for (const auto& e : graph.edges) {
    const auto& first = graph.names[static_cast<std::size_t>(e.first)];
    const auto& second = graph.names[static_cast<std::size_t>(e.second)];
    neighbours[first].insert(second);
    neighbours[second].insert(first);
  }
  using Names = std::set<std::string>;
  EXPECT_EQ(neighbours["leaf0"], (Names{"node2", "node3", "spine \"a\""}));
  EXPECT_EQ(neighbours["leaf1"], (Names{"node0", "node1", "spine \"a\""}));
  EXPECT_EQ(neighbours["spine \"a\""], (Names{"leaf0", "leaf1"}));
  Names shown;
  const Json drawn = picture(graph);
  for (const Json& vertex : drawn["vertices"])
    shown.insert(vertex["name"].get<std::string>());
  EXPECT_EQ(shown, (Names{"node0", "node1", "node2", "node3", "leaf0", "leaf1", "spine \"a\""}));
  EXPECT_NE(drawing(graph).find(R"([label="spine \"a\"", shape=ellipse)"), std::string::npos)
      << drawing(graph);
}

TEST(FabricDrawing, APageGetsSwitchesAboveTheirNodes) {
  const Json tree =
      picture(graph_of(*make_fabric(R"({"type": "fat-tree", "radix": 4})", 16), 16, 1));
  ASSERT_EQ(tree["vertices"].size(), 16U + 8 + 8 + 4);
  for (const Json& link : tree["links"]) {
    const Json& lower = tree["vertices"][link["first"].get<std::size_t>()];
    const Json& upper = tree["vertices"][link["second"].get<std::size_t>()];
    EXPECT_EQ(std::abs(lower["y"].get<double>() - upper["y"].get<double>()), 1);
  }
}

TEST(FabricDrawing, APageGetsARingInTheRound) {
  const Json ring = picture(graph_of(*make_fabric(R"({"type": "ring"})", 6), 6, 1));
  for (const Json& vertex : ring["vertices"])
    EXPECT_NEAR(std::hypot(vertex["x"].get<double>(), vertex["y"].get<double>()), 1, 1e-12);
}

TEST(FabricDrawing, ManyNodesAreANumberInTheirSwitch) {
  const Json shown = picture(graph_of(*make_fabric(R"({"type": "switch"})", 40), 40, 1));
  ASSERT_EQ(shown["vertices"].size(), 1U);
  EXPECT_EQ(shown["vertices"][0]["holds"], 40);
  EXPECT_TRUE(shown["links"].empty());
}

}  // namespace
}  // namespace steptime
