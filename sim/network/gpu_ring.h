// A ring over the first GPUs of a node, in device order: what a closed form that knows no links
// takes for its inside.
#pragma once
#include "sim/network/cluster.h"
#include "sim/network/topology.h"

#include <cstdint>
#include <optional>

namespace steptime {

/// The worst of the ways between neighbours, in latency and in bandwidth; nothing where two of them
/// do not reach each other. `used`: so many GPUs, or all where the node has fewer.
std::optional<Link> gpu_ring(const Topology& node, RouteMetric metric, std::int64_t used);

}  // namespace steptime
