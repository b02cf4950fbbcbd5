// How long a kernel of NCCL's takes between nodes: latency hop by hop, and what the NICs carry.
#pragma once
#include "netmodels/libraries/nccl_tuning.h"

#include <cstdint>

namespace steptime {

/// Time in us from the first instruction of the kernel that NCCL has chosen to its last, of a graph
/// with several nodes. `tuning`: of the release, or of the first that has a table; choice.time_us
/// is its estimate.
double nccl_between_us(const NcclTuning& tuning, const NcclGraph& graph, const NcclChoice& choice,
                       std::int64_t bytes);

}  // namespace steptime
