// The network of a run whose links between nodes are slower than they should be.
#pragma once
#include "sim/experiment/experiment.h"

#include <memory>

namespace steptime {

/// Throws InputError where slow links would make no difference to what is simulated.
void check_slow_links(const Experiment& experiment);

/// As messages meet it.
std::shared_ptr<const Cluster> played_cluster(const Experiment& e);

}  // namespace steptime
