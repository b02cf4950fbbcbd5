// What a run of MXNet's Module API depends on (module_step.h).
#pragma once
#include "sim/core/limits.h"
#include "sim/events/timeline.h"
#include "sim/learning/update.h"
#include "sim/mxnet/embedding.h"
#include "sim/network/cluster.h"
#include "sim/servers/aggregation.h"
#include "sim/training/plan.h"
#include "sim/workload/variation.h"

#include <cstdint>

namespace steptime {

struct ModuleRun {
  const Cluster& cluster;
  const Aggregation& aggregation;  ///< the embedding says how it merges
  const Update& update;            ///< keys travel in the steps in which it exchanges
  const Embedding& embedding;      ///< says what the main thread's calls cost
  /// The run whose servers the nodes meet at, with a bucket there for each key; null: one node
  /// without servers.
  const TrainingPlan* served = nullptr;
  std::int64_t steps = 1;  ///< to average over, where each differs; else to a steady state
  std::int64_t seed = 1;
  std::int64_t seeds = 1;     ///< such runs in all: too long ones are refused before the first
  Variation variation{};      ///< how the GPUs' segments differ
  std::int64_t learning = 0;  ///< steps from the first one on whose ends are asked for
  bool attributes = false;    ///< the step's causes are asked for
  Timeline* timeline = nullptr;
  OnProgress on_progress{};
};

}  // namespace steptime
