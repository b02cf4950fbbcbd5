// Small workloads and collectives for tests of schedules and steps.
#pragma once
#include "sim/collective/collective.h"
#include "sim/core/units.h"
#include "sim/step/schedule.h"
#include "sim/step/step.h"
#include "sim/workload/workload.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace steptime {

/// A collective that costs what a function says.
class CostFunction final : public Collective {
 public:
  CostFunction(Duration startup, std::function<Duration(Bytes)> time)
      : startup_(startup), time_(std::move(time)) {}
  Duration time(Bytes m) const override { return time_(m); }
  Duration startup() const override { return startup_; }

 private:
  Duration startup_;
  std::function<Duration(Bytes)> time_;
};

/// a + b M, with b a whole number of picoseconds per byte: no rounding anywhere.
inline LinearCollective line(Duration a, Duration per_byte) {
  return LinearCollective(LinearCost{a, {to_seconds(per_byte)}});
}

/// The gradient of a layer that has one tensor.
struct Gradient {
  Duration backward{};
  std::int64_t bytes = 0;
};

/// One layer per gradient; the gradients in the order in which they become ready, so the first one
/// belongs to the last layer. Their names: g1, g2, ... in that order.
inline Workload workload_of(std::span<const Gradient> gradients, Duration forward = {}) {
  Workload workload{.trace = {.model = "fake", .device = "fake", .batch = 1}, .bytes_per_param = 1};
  workload.trace.forward_total = forward;
  for (std::size_t i = gradients.size(); i-- > 0;) {
    const std::string name = "g" + std::to_string(i + 1);
    workload.trace.layers.push_back(
        {.name = name, .backward = gradients[i].backward, .tensors = {{name, gradients[i].bytes}}});
  }
  return workload;
}

/// The step that a schedule makes of a workload. More than one worker: how many is the business of
/// the collective.
inline StepPlan plan_of(const Workload& workload, const Schedule& schedule,
                        const Collective& collective, std::int64_t workers = 2) {
  const std::vector<GradientUnit> units = workload.units(schedule.granularity());
  return plan_step(workload, units, schedule.plan(units, collective), collective, workers);
}
inline StepTimes step_of(const Workload& workload, const Schedule& schedule,
                         const Collective& collective) {
  return closed_step(plan_of(workload, schedule, collective));
}

/// 004 equations 6 to 8, written a second time: when the last of these messages ends, from the
/// start of the backward pass.
inline Duration end_of(std::span<const GradientUnit> units, std::span<const std::int32_t> sizes,
                       const Collective& collective) {
  Duration end{};
  for (const std::int32_t size : sizes) {
    Bytes bytes{};
    for (const GradientUnit& unit : units.first(static_cast<std::size_t>(size)))
      bytes += unit.bytes;
    const Duration ready = units[static_cast<std::size_t>(size - 1)].ready;
    end = std::max(end, ready) + collective.time(bytes);
    units = units.subspan(static_cast<std::size_t>(size));
  }
  return end;
}

/// The earliest end over all 2^(n-1) partitions of n units into messages, each of them tried; the
/// channel is free at `end`.
inline Duration earliest_end(std::span<const GradientUnit> units, const Collective& collective,
                             Duration end = {}) {
  if (units.empty()) return end;
  Duration best = Duration::max();
  Bytes bytes{};
  for (std::size_t first = 1; first <= units.size(); ++first) {
    bytes += units[first - 1].bytes;
    const Duration sent = std::max(end, units[first - 1].ready) + collective.time(bytes);
    best = std::min(best, earliest_end(units.subspan(first), collective, sent));
  }
  return best;
}

}  // namespace steptime
