// The keys of an experiment, of its "strategy" and of its "run" section.
#pragma once
#include "sim/config/config.h"

namespace steptime {

const Params& experiment_params();
const Params& strategy_params();
const Params& run_params();

}  // namespace steptime
