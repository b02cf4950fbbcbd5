// How many messages a step of a layout has, known before it is played.
#pragma once
#include "sim/layouts/plan.h"

namespace steptime {

/// Of all ranks together. About: collectives that only some micro-batches call are counted for all.
double messages_of(const LayoutPlan& plan);

}  // namespace steptime
