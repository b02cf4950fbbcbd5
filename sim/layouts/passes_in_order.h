// What each place of a pipeline does in its order, one pass after another.
#pragma once
#include "sim/layouts/plan.h"

#include <vector>

namespace steptime {

/// The passes of each place. Those of the last order that the thread has asked for stay, as a step
/// is followed by that of one replica alone: the reference holds until the thread asks for another.
const std::vector<std::vector<Pass>>& passes_in_order(const LayoutPlan& plan);

}  // namespace steptime
