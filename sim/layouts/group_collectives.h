// The collectives of a group of a layout, on the part of the cluster that its members are on.
#pragma once
#include "sim/collective/backend.h"
#include "sim/config/config.h"
#include "sim/layouts/plan.h"
#include "sim/network/cluster.h"

#include <cstdint>
#include <span>

namespace steptime {

/// The nodes of these ranks, `gpus_per_node` to a node, with as many GPUs as the group has on each
/// and its part of a node's adapters. Throws InputError, through `strategy`, where nodes have
/// unequal numbers of them.
Cluster cluster_of(const Config& strategy, const Cluster& whole,
                   std::span<const std::int32_t> ranks);

/// Each made as the strategy's aggregation says. Throws InputError for a collective that is known
/// for the whole cluster only.
GroupCosts group_costs(const Config& strategy, const Backend& backend, const Cluster& whole,
                       std::span<const std::int32_t> ranks);

}  // namespace steptime
