// The machines of a run, some of which are slower than they should be.
#pragma once
#include "sim/experiment/experiment.h"

#include <memory>

namespace steptime {

/// Throws InputError where what is slow or fails is none of the cluster's, or would make no
/// difference to what is simulated.
void check_machines(const Experiment& experiment);

/// As messages meet it.
std::shared_ptr<const Cluster> played_cluster(const Experiment& e);

/// How its workers differ.
Variation played_variation(const Experiment& e);

}  // namespace steptime
