// The collectives of a group of a layout, on the part of the cluster that its members are on.
#pragma once
#include "sim/collective/backend.h"
#include "sim/config/config.h"
#include "sim/layouts/plan.h"
#include "sim/network/cluster.h"

#include <cstdint>
#include <memory>
#include <span>

namespace steptime {

/// The nodes of these ranks, `gpus_per_node` to a node, with as many GPUs as the group has on each
/// and the adapters that are nearest to these, each of which it shares evenly with what else goes
/// through it at the same time: `on_an_adapter` groups in all. Throws InputError, through
/// `strategy`, where nodes have unequal numbers of the ranks.
Cluster cluster_of(const Config& strategy, const Cluster& whole,
                   std::span<const std::int32_t> ranks, std::int64_t on_an_adapter = 1);

/// Each made as the strategy's aggregation says. Throws InputError for a collective that is known
/// for the whole cluster only.
GroupCosts group_costs(const Config& strategy, const Backend& backend, const Cluster& whole,
                       std::span<const std::int32_t> ranks, std::int64_t on_an_adapter = 1);

/// Throws InputError for a reduce-scatter or an all-gather that ranks of the plan make and that the
/// collective of the strategy's aggregation has none of: only its all-reduce is known. (All-to-alls
/// are sends between all pairs, whatever the collective: no library has another way.)
void expect_own_operations(const LayoutPlan& plan, const Config& strategy);

/// The collectives of all groups of a plan that knows its layout and its states, and what its ranks
/// send to their neighbours, on this cluster. Throws InputError as the two above.
void place_groups(LayoutPlan& plan, const Config& strategy, const Backend& backend,
                  std::shared_ptr<const Cluster> cluster);

}  // namespace steptime
