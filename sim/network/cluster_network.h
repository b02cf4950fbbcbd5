// A cluster is read in two steps where its network stays the same while other keys change.
#pragma once
#include "sim/network/cluster.h"

#include <memory>

namespace steptime {

/// What connects the nodes of a "cluster" section.
std::shared_ptr<const NetworkKind> read_network(const Config& section);
/// As read_cluster(section), with what read_network() has read.
Cluster read_cluster(const Config& section, std::shared_ptr<const NetworkKind> network);

}  // namespace steptime
