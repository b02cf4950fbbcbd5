// How long a kernel of NCCL's takes, which is not what NCCL estimates when it chooses one.
#pragma once
#include "netmodels/libraries/nccl_tuning.h"

#include <cstdint>

namespace steptime {

/// Time in us from the first instruction of the kernel that NCCL has chosen to its last, of a graph
/// with one node. `tuning`: of the release, or of the first that has a table.
double nccl_kernel_us(const NcclTuning& tuning, const NcclGraph& graph, const NcclChoice& choice,
                      std::int64_t bytes);

/// By how much longer than from 4 GiB on a byte of a message of this size takes.
double nccl_ramp(const NcclGraph& graph, double bytes);

}  // namespace steptime
