// Training with MXNet's Module API: on each node one process, whose main thread goes through all
// its GPUs, and whose kvstore adds gradients up by operations of the engine (merge.h). With servers
// the optimizer runs there, and nodes meet there (optimizer.h).
//
//   batch after batch:
//     the samples               waits for the input pipeline
//     for every GPU  forward    a call; its segments read the weights of their keys
//     for every GPU  backward   a call; a segment writes the gradients of its keys
//     for every call's keys     push, the optimizer's call for each key where it runs here, pull
//     update_metric             waits for the forward pass of every GPU
//
// Nothing else waits: sums and copies overlap the backward pass and the next forward pass, whose
// segments wait for their own weights. Where no framework is modelled, calls cost nothing but what
// the aggregation says, and segments are bulks of as many layers as MXNet's default. Source:
// apache/mxnet 1.3.1 python/mxnet/module/executor_group.py, python/mxnet/model.py
// (_update_params_on_kvstore), src/kvstore/kvstore_local.h, kvstore_dist.h.
#pragma once
#include "sim/learning/update.h"
#include "sim/mxnet/embedding.h"
#include "sim/mxnet/merge.h"
#include "sim/servers/aggregation.h"
#include "sim/training/plan.h"

#include <span>

namespace steptime {

struct ModuleRun {
  const Cluster& cluster;
  const Aggregation& aggregation;  ///< the embedding says how it merges
  const Update& update;            ///< keys travel in the steps in which it exchanges
  const Embedding& embedding;      ///< says what the main thread's calls cost
  /// The run whose servers the nodes meet at, all of which push before any pulls, with a bucket
  /// there for each key; null: one node without servers.
  const TrainingPlan* served = nullptr;
  std::int64_t steps = 1;  ///< to average over, where GPUs vary in speed; else to a steady state
  std::int64_t seed = 1;
  std::int64_t seeds = 1;     ///< such runs in all: too long ones are refused before the first
  Variation variation{};      ///< how the GPUs' segments differ
  std::int64_t learning = 0;  ///< steps from the first one on whose ends are asked for
  bool attributes = false;    ///< the step's causes are asked for
  Timeline* timeline = nullptr;
  OnProgress on_progress{};
};

/// The busy time of communication is that in which any key of the first node is under way.
EmbeddedStep module_step(const StepPlan& plan, const Workload& workload,
                         std::span<const GradientUnit> units, const ModuleRun& run);

}  // namespace steptime
