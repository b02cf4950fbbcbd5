// Several trainings on one network, each on nodes of its own: their workers are ranks of one world,
// and all their messages share its links. A training that has its steps goes on until all have, so
// that each is told beside the others from its first step to its last.
#pragma once
#include "sim/core/limits.h"
#include "sim/events/causes.h"
#include "sim/events/timeline.h"
#include "sim/network/cluster.h"
#include "sim/training/plan.h"

#include <cstdint>
#include <vector>

namespace steptime {

struct SharedJob {
  TrainingPlan plan;  ///< its cluster has the job's nodes alone, and no servers
  /// The nodes of the network that it has, in the order of its own.
  std::vector<std::int64_t> nodes;
  std::int64_t seed = 1;
};

/// The times of each. `timeline`: gets the first job; null: nobody is drawn. `causes`: of the first
/// job; null: nobody's. Throws PlacedError for collectives that are known by their time only.
std::vector<TrainingTimes> play_jobs(const Cluster& network, std::vector<SharedJob> jobs,
                                     const OnProgress& on_progress = {},
                                     Timeline* timeline = nullptr, Causes* causes = nullptr);

}  // namespace steptime
