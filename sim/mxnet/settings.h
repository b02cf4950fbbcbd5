// What a rank's framework costs and how it is set up.
#pragma once
#include "sim/config/binding.h"
#include "sim/core/units.h"
#include "sim/runtime/thread_pool.h"

#include <cstdint>

namespace steptime {

struct MxnetSettings {
  bool backward_keys = false;     ///< keys are pushed as gradients appear; else in forward order
  bool equal_priorities = false;  ///< all keys have priority 0; else a key's is minus its number
  std::int64_t bulk = 15;         ///< layers per compute segment, at most
  Duration python_call{};         ///< one call of the framework's Python API, on the main thread
  Duration engine_push{};         ///< pushing one operation
  Duration wake_up{};       ///< from the end of what the main thread waits for to its next action
  Duration copy_latency{};  ///< between GPU and host
  Bandwidth copy_bandwidth{1e12};
  Duration update{};  ///< what updating one key's weights takes, beyond what the trace counts
  Duration gpu_operation{};  ///< what a kvstore's copy or sum takes besides its bytes
  std::int64_t collective_threads = 4;
  PoolOrder collective_order = PoolOrder::kPriority;
  double jitter = 0;  ///< computing and copying take up to this share longer
};

/// The keys that every embedding in an engine has, and those of the pool that runs collectives,
/// for embeddings that run them on threads of the engine.
const Bindings<MxnetSettings>& mxnet_keys();
const Bindings<MxnetSettings>& collective_pool_keys();

}  // namespace steptime
