// TCP connections between two nodes: as many as the library opens that makes a strategy's
// collectives.
#pragma once
#include "sim/config/config.h"
#include "sim/network/cluster.h"
#include "sim/servers/transport.h"

#include <cstdint>
#include <memory>

namespace steptime {

/// By the name of the transport's backend or of the collective; where neither is named, GPUs have
/// NCCL. `strategy`: a config's section.
std::int64_t connections_of(const Config& strategy, const Transport& transport);

/// The cluster as that many connections find its network; itself where it says nothing of
/// connections.
std::shared_ptr<const Cluster> connected(std::shared_ptr<const Cluster> cluster,
                                         std::int64_t connections);

/// The most that a node's port carries, whatever opens how many connections.
Bandwidth most_of_port(const Cluster& cluster);

}  // namespace steptime
