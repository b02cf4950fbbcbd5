// What a training step needs of the device's memory: see models/memory.cpp.
#pragma once
#include "models/device.h"
#include "models/layer_table.h"
#include "models/training.h"
#include "sim/core/units.h"
#include "sim/workload/workload.h"

#include <cstdint>

namespace steptime {

/// Of the driver and the framework, on any GPU: see models/memory.cpp.
inline constexpr Bytes kDriverContext{430'000'000};

TrainingMemory training_memory(const LayerTable& table, const Device& device, std::int64_t batch,
                               const Training& training);

}  // namespace steptime
