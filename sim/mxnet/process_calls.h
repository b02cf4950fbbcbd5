// What the main thread of a process that drives all GPUs of a node does in a step, and what that
// costs.
#pragma once
#include "sim/core/units.h"
#include "sim/servers/aggregation.h"

#include <cstdint>

namespace steptime {

struct ProcessCalls {
  Duration pass{};  ///< the call of a GPU's forward, or backward, pass
  IssuingThread keys;
  Duration updater{};  ///< the optimizer's call for a key
  Duration metric{};
  Duration wake_up{};
  Duration engine_push{};    ///< pushing one operation
  Duration gpu_operation{};  ///< what a copy, a sum or an update takes besides its bytes
  Duration update{};         ///< what the optimizer takes for one key, besides that
  std::int64_t bulk = 1;     ///< layers of a compute segment, at most
  bool backward_keys = false;
  std::int32_t priority = -1;  ///< key k has k times this
};

}  // namespace steptime
