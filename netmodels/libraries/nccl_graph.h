// What NCCL's topology search finds on a cluster: how many rings, how fast, over what.
#pragma once
#include "netmodels/libraries/nccl_tuning.h"
#include "sim/network/cluster.h"

#include <cstdint>
#include <span>
#include <vector>

namespace steptime {

/// The most rings that the NVLinks among the first `gpus` GPUs of `matrix` carry at once, each link
/// used once in each direction; 0 when no ring closes.
std::int64_t nvlink_rings(std::span<const std::vector<int>> matrix, std::int64_t gpus);

/// The same for GPUs that pass data on for others, each ring in one direction.
std::int64_t transit_rings(std::span<const std::vector<int>> matrix, std::int64_t gpus);

/// The graph of all-reduces over all GPUs of the cluster, as `release` finds it (2008000 for 2.8);
/// from 2.8 on GPUs may pass data on where no ring closes over NVLink, from 2.19 on no NVLink is
/// faster than NCCL counts it.
NcclGraph nccl_graph(const Cluster& cluster, int release = 2007008);

}  // namespace steptime
