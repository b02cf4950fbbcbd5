// The inside of a node as a picture for Graphviz.
#pragma once
#include "sim/collective/link_use.h"
#include "sim/network/cluster.h"
#include "sim/network/topology.h"

#include <span>
#include <string>

namespace steptime {

/// The inside of a node; a node without a graph is its GPUs on a switch.
Topology node_of(const Cluster& cluster);

/// GPUs on a circle, what joins them inside it, the way to the host and to the network outside;
/// links that carry something with the percentage of time for which they do, there and back.
std::string drawing(const Topology& node, std::span<const LinkUse> uses = {});

/// The same for a page: {"vertices": [{"name", "kind", "x", "y"}], "links": [{"first", "second",
/// "kind", "GBps", "latency_us", "count", "there", "back"}]}; x and y in inches, GBps of one of
/// `count` links, there and back the shares of time.
Json picture(const Topology& node, std::span<const LinkUse> uses);

}  // namespace steptime
