// Some of the nodes of a cluster, at their own ports of its fabric.
#pragma once
#include "sim/network/cluster.h"

#include <cstdint>
#include <vector>

namespace steptime {

/// `cluster`, whose nodes are these of a cluster with `whole` nodes that is like it: node i is at
/// the ports of node nodes[i] there.
Cluster at_nodes(Cluster cluster, std::vector<std::int64_t> nodes, std::int64_t whole);

}  // namespace steptime
