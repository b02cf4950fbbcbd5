// What PyTorch's DistributedDataParallel launches on the GPU of a worker beside the kernels of its
// network, where gradients travel in buckets and there are other workers:
//
//   backward   each gradient is copied into its bucket as soon as it exists
//   forward    after the all-reduces each gradient is copied back; before the first layer the
//              network's buffers, which rank 0 has sent in two messages, are copied to their places
//
// A copy is a kernel that reads and writes its bytes: start + 2 bytes / rate of the memory.
//
// Scope: no views of buckets as gradients; the messages of the buffers, which carry few bytes, take
// no time; what copies back waits for all all-reduces, of which in truth it follows each. Where no
// device model says what a copy takes, it takes none. Nothing is fitted.
// Source: pytorch v2.3.1 torch/csrc/distributed/c10d/reducer.cpp mark_variable_ready_dense,
// finalize_bucket_dense; torch/nn/parallel/distributed.py broadcast_buffers;
// torch/csrc/distributed/c10d/comm.cpp BroadcastWork::finish.
#pragma once
#include "sim/workload/workload.h"

#include <optional>

namespace steptime {

/// The workload with them; none where nothing is known of copies.
std::optional<Workload> with_bucket_copies(const Workload& alone);

}  // namespace steptime
