// What a framework does by itself between the backward pass of a step and the next forward pass:
// gradients travel beside it, and kernels wait for it. A schedule may have it beside its other
// methods, where it sends gradients by all-reduces; then a step takes
//   max(as without it, compute + host work)
// but for what the first layers still wait for.
#pragma once
#include "sim/core/units.h"
#include "sim/workload/workload.h"

namespace steptime {

class HostWork {
 public:
  virtual ~HostWork() = default;
  /// Of every step, at least 0.
  virtual Duration between_passes() const = 0;
};

/// The workload with as long a layer without gradients in front, whose backward pass is the last:
/// all gradients are there before it.
Workload with_host_work(const Workload& alone, Duration between_passes);

}  // namespace steptime
