// When gradients are communicated, and which of them together. A schedule decides, it never acts:
// sim/step/step.h carries the decision out. Implemented in schedulers/, one file each.
#pragma once
#include "sim/collective/collective.h"
#include "sim/config/registry.h"
#include "sim/core/units.h"
#include "sim/workload/workload.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace steptime {

/// A partition of the gradient units, in the order in which they become ready, into messages.
struct BucketPlan {
  /// Number of units of each bucket; adds up to the number of units, none is zero.
  std::vector<std::int32_t> sizes;
  /// Every bucket waits for the end of the backward pass; else for its own last unit.
  bool after_backward = false;
};

class Schedule {
 public:
  static constexpr const char* kNoun = "schedule";
  explicit Schedule(Granularity granularity) : granularity_(granularity) {}
  virtual ~Schedule() = default;
  Granularity granularity() const { return granularity_; }
  /// `units` in the order in which they become ready; `collective` is what a message costs.
  virtual BucketPlan plan(std::span<const GradientUnit> units,
                          const Collective& collective) const = 0;

 private:
  Granularity granularity_;
};
using Schedules = Registry<Schedule>;

/// The key that every schedule has: which gradients can never be parted.
Param granularity_param();
Granularity read_granularity(const Config& config);

}  // namespace steptime
