#include "sim/mxnet/settings.h"

namespace steptime {

const Bindings<MxnetSettings>& mxnet_keys() {
  using S = MxnetSettings;
  static const Bindings<S> keys{
      {&S::backward_keys, "key_order",
       "in which the program goes through the keys: as the framework numbers them, or as "
       "gradients appear; where a call blocks, or holds the thread, only the latter can overlap "
       "the "
       "backward pass",
       "forward", one_of("forward", "backward")},
      {&S::equal_priorities, "priority", "of a key's operations: minus its number, or all equal",
       "key", one_of("key", "none")},
      {&S::bulk, "bulk", "most layers per compute segment", 15, between(1, 1e6)},
      {&S::python_call, "python_call", "main thread: one call of push, pull, update", "45 us",
       kNotNegative},
      {&S::engine_push, "engine_push", "main thread: pushing one operation", "2 us", kNotNegative},
      {&S::wake_up, "wake_up", "main thread: from the end of what it waits for to its next action",
       "10 us", kNotNegative},
      {&S::copy_latency, "copy_latency", "of a copy between GPU and host", "10 us", kNotNegative},
      {&S::copy_bandwidth, "copy_bandwidth", "of a copy between GPU and host", "12 GB/s",
       kPositive},
      {&S::update, "update", "of one key's weights, on the GPU, beyond what the trace counts",
       "0 s", kNotNegative},
      {&S::jitter, "jitter",
       "compute segments and copies take longer by up to this share, at random, on each "
       "rank of its own; 0: all ranks are alike",
       0, between(0, 100)}};
  return keys;
}

const Bindings<MxnetSettings>& collective_pool_keys() {
  using S = MxnetSettings;
  static const Bindings<S> keys{
      {&S::collective_threads, "threads", "of the pool that runs collectives", 4, between(1, 4096)},
      {&S::collective_order, "order", "in which that pool takes operations", "priority",
       one_of("priority", "fifo")}};
  return keys;
}

}  // namespace steptime
