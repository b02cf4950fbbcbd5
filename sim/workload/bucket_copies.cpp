#include "sim/workload/bucket_copies.h"

namespace steptime {

std::optional<Workload> with_bucket_copies(const Workload& alone) {
  const auto& copies = alone.trace.copies;
  if (!copies || alone.trace.layers.empty()) return std::nullopt;
  Workload workload = alone;
  Trace& trace = workload.trace;
  Duration back = copies->buffers * copies->start;
  for (Layer& layer : trace.layers) {
    const auto bytes = static_cast<double>(layer.params() * alone.bytes_per_param);
    const Duration all = std::ssize(layer.tensors) * copies->start +
                         from_seconds(2 * bytes / copies->bytes_per_second);
    layer.backward += all;
    back += all;
  }
  if (trace.forward_total) *trace.forward_total += back;
  trace.layers.front().forward += back;
  return workload;
}

}  // namespace steptime
