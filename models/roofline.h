// Time of each layer of a table on a device: see models/roofline.cpp.
#pragma once
#include "models/device.h"
#include "models/layer_table.h"
#include "models/training.h"
#include "sim/workload/workload.h"

#include <cstdint>

namespace steptime {

/// Throws std::overflow_error when the step takes longer than any trace may.
Trace roofline(const LayerTable& table, const Device& device, std::int64_t batch,
               const Training& training);

}  // namespace steptime
