// Runs an experiment with a layout: its ranks' programs, and the figures that follow from them.
#pragma once
#include "sim/events/timeline.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/result.h"

namespace steptime {

/// All but the domain, the interval and what follows from failures. `timeline` may be null.
Result layout_result(const Experiment& experiment, Timeline* timeline);

}  // namespace steptime
