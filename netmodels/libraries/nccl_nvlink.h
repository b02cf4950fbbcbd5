// What NCCL's kernels take over NVLink from 2.19 on, by generation of GPUs.
#pragma once
#include "netmodels/libraries/nccl_tuning.h"

namespace steptime {

/// Whether that stands for this graph: one node, GPUs from Ampere on whose rings run over NVLink,
/// and a release from 2.19 on. It holds the start of the kernel, too.
bool nccl_on_nvlink(const NcclTuning& tuning, const NcclGraph& graph);

/// Time in us that nccl-tests would print for the choice, of rings and of NVLS.
double nccl_nvlink_us(const NcclGraph& graph, const NcclChoice& choice, double bytes);

}  // namespace steptime
