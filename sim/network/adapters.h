// Which of a node's network adapters its GPUs use: each the one that is nearest to it, in order.
#pragma once
#include "sim/network/cluster.h"

#include <cstdint>
#include <functional>

namespace steptime {

/// How many adapters, and so ports of the fabric, a node has.
std::int64_t adapters_of(const Cluster& cluster);
/// The adapter of a node's `gpu`; several GPUs have the same one where there are fewer adapters.
std::int64_t adapter_of(const Cluster& cluster, std::int64_t gpu);

/// How many different things go through one adapter of a node at most. `thing_of`: what a rank of
/// the node sends for; below 0: nothing.
std::int64_t most_on_an_adapter(const Cluster& cluster, std::int64_t node,
                                const std::function<std::int32_t(std::int32_t rank)>& thing_of);

}  // namespace steptime
