// What a collective along trees is told.
#pragma once
#include "sim/collective/reduce_tree.h"
#include "sim/config/config.h"
#include "sim/network/cluster.h"

#include <vector>

namespace steptime {

/// planner, detection, array_bound, row.
const Params& tree_params();
/// A tree for each GPU of the cluster's one node. Throws InputError for another cluster, and
/// ModelFailure where the planner finds none.
std::vector<ReduceTree> read_trees(const Config& c, const Cluster& cluster);

}  // namespace steptime
