// What the collectives of a run went over.
#pragma once
#include "sim/collective/path.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/result.h"

namespace steptime {

/// As the collective itself knows; else, of a run with messages on a node with NICs, how many of
/// them carried anything. Empty where neither is known.
CollectivePath used_path(const Experiment& experiment, const Result& result);

}  // namespace steptime
