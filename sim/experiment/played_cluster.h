// The machines of a run, some of which are slower than they should be.
#pragma once
#include "sim/experiment/experiment.h"

#include <memory>

namespace steptime {

/// Throws InputError where what is slow or fails is none of the cluster's, or would make no
/// difference to what is simulated.
void check_machines(const Experiment& experiment);

struct PlayedMachines {
  std::shared_ptr<const Cluster> cluster;  ///< as messages meet it
  Variation variation;                     ///< how its workers differ
};
PlayedMachines played_machines(const Experiment& e);

}  // namespace steptime
