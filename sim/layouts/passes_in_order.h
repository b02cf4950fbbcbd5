// What each place of a pipeline does in its order, one pass after another.
#pragma once
#include "sim/layouts/plan.h"
#include "sim/layouts/segments.h"

#include <vector>

namespace steptime {

/// The passes of each place. Those of the last order that the thread has asked for stay, as a step
/// is followed by that of one replica alone: the reference holds until the thread asks for another.
const std::vector<std::vector<Pass>>& passes_in_order(const LayoutPlan& plan);

/// What there is to do in a step. The plan must outlive it, and it the next passes_in_order().
struct StepPasses {
  explicit StepPasses(const LayoutPlan& plan);

  std::vector<std::vector<ChunkPasses>> chunks{};  ///< by place of the pipeline
  const std::vector<std::vector<Pass>>& order;     ///< by place, one pass after another
};

}  // namespace steptime
