// A layer table's layers as oneDNN runs them, forward and backward, each on memory of its own.
#pragma once
#include "calibration/compute.h"

#include <cstdint>
#include <vector>

namespace steptime {

/// For batches of float32, on the CPU, in one thread's order. Throws InputError for a convolution
/// whose shape the table does not give.
std::vector<LayerRun> dnnl_runs(const std::vector<TableLayer>& layers, std::int64_t batch);

}  // namespace steptime
