// What connects the nodes as a graph, and as a picture for Graphviz.
#pragma once
#include "sim/config/json.h"
#include "sim/core/units.h"
#include "sim/network/cluster.h"
#include "sim/network/fabric.h"

#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

/// A fabric between nodes, as its routes show it: which link follows which tells the switches.
struct FabricGraph {
  struct Edge {
    std::int32_t first = 0;  ///< vertices; the first `nodes` ones are the nodes
    std::int32_t second = 0;
    Bandwidth bandwidth{};  ///< one of the parallel links, in one direction
    Duration latency{};
    std::int64_t count = 1;  ///< parallel ones
  };
  std::int64_t nodes = 0;
  std::int64_t vertices = 0;
  std::vector<Edge> edges;
  /// Of every vertex: node0, node1, ..., and the switches' names where the config has them.
  std::vector<std::string> names;
};
/// `ports_per_node` consecutive ports are a node. Looks at the route of every pair of ports; a
/// fabric of fewer than three should be made for three.
FabricGraph graph_of(const Fabric& fabric, std::int64_t nodes, std::int64_t ports_per_node);
/// What connects the nodes of a cluster.
FabricGraph graph_of(const Cluster& cluster);
std::string drawing(const FabricGraph& graph);

/// The same for a page: {"vertices": [{"name", "kind": "node" or "switch", "holds", "x", "y"}],
/// "links": [{"first", "second", "GBps", "latency_us", "count"}]}. Where many nodes hang on one
/// switch each they are left out, and "holds" is their number; x and y in steps between neighbours.
Json picture(const FabricGraph& graph);

}  // namespace steptime
