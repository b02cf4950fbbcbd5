// A step of a layout: its ranks' programs, played on one clock.
#pragma once
#include "sim/events/timeline.h"
#include "sim/layouts/layout_times.h"
#include "sim/layouts/passes_in_order.h"
#include "sim/layouts/plan.h"

#include <memory>

namespace steptime {

/// A step that was played, beside what it was planned as.
struct PlayedLayout {
  std::shared_ptr<const LayoutPlan> plan;
  LayoutTimes times;

  /// Whether the fullest rank holds no more than its device; true where that is not known.
  bool fits() const {
    const auto& device = plan->work.device;
    return !device || times.ranks[times.fullest()].peak <= device->count;
  }
};

/// By fast paths where they are exact (sim/core/fast_paths.h), else by the ranks' programs. Throws
/// ModelFailure when ranks wait for each other.
LayoutTimes play_layout(const LayoutPlan& plan, Timeline* timeline = nullptr);
LayoutTimes play_layout(const LayoutPlan& plan, const StepPasses& passes, Timeline* timeline);

/// How long the step of one replica alone takes. `passes` and `times`: of the whole step.
Duration replica_time(const LayoutPlan& plan, const StepPasses& passes, const LayoutTimes& times);

}  // namespace steptime
