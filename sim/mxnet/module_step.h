// Training with MXNet's Module API: on each node one process, whose main thread goes through all
// its GPUs, and whose kvstore adds gradients up by operations of the engine (merge.h). With servers
// the optimizer runs there, and nodes meet there (updater.h).
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
#include "sim/mxnet/embedded_step.h"
#include "sim/mxnet/module_run.h"
#include "sim/step/step.h"
#include "sim/training/learner.h"
#include "sim/training/plan.h"
#include "sim/workload/workload.h"

#include <span>

namespace steptime {

/// The busy time of communication is that in which any key of the first node is under way.
EmbeddedStep module_step(const StepPlan& plan, const Workload& workload,
                         std::span<const GradientUnit> units, const ModuleRun& run);

/// The same at servers where nodes do not wait for each other: each one's steps are its own, and
/// times are means over nodes. `nodes`: the run whose clients these are. `learner`: null: nothing
/// is learnt. `causes`: gets the run's; null: nobody keeps them.
TrainingTimes module_nodes(const StepPlan& plan, const Workload& workload,
                           std::span<const GradientUnit> units, const ModuleRun& run,
                           const TrainingPlan& nodes, Learner* learner, Causes* causes);

}  // namespace steptime
