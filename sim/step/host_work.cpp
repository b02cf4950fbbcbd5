#include "sim/step/host_work.h"

namespace steptime {

Workload with_host_work(const Workload& alone, Duration between_passes) {
  Workload workload = alone;
  workload.trace.copies.reset();  // which are of schedules without work of their own
  workload.trace.layers.insert(
      workload.trace.layers.begin(),
      {.name = "host work", .forward = {}, .backward = between_passes, .tensors = {}});
  return workload;
}

}  // namespace steptime
