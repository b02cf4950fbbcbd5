#include "sim/experiment/runs/kvstore_run.h"

#include "sim/experiment/keys.h"
#include "sim/experiment/runs/training_result.h"
#include "sim/experiment/training_run.h"
#include "sim/mxnet/module_step.h"
#include "sim/network/read_cluster.h"

#include <algorithm>
#include <optional>

#include <spdlog/spdlog.h>

namespace steptime {

void KvstoreRun::check(const Experiment& e, const DocumentOf& document) const {
  EngineRun::check(e, document);
  const Config config(document(), experiment_params());
  const Config workload = config.object("workload", workload_params());
  if (workload.has("overlap") && Catalogue::type_of(workload, "overlap") != "none") {
    workload.fail(
        "overlap",
        "unexpected, as kernels and what a kvstore adds up on a node do not slow each other down");
  }
  if (e.cluster->intra_node_beside_kernels > 1) {
    config.object("cluster", cluster_params())
        .fail("intra_node_beside_kernels",
              "what a kvstore adds up on a node is not slowed down by kernels; expected 1");
  }
}

void check_kvstore(const Config& strategy, const Experiment& e) {
  if (e.schedule->fuses()) {
    strategy.fail("schedule",
                  "fuses what is ready while the step runs, but a kvstore sends keys one by one; "
                  "expected one that plans beforehand");
  }
  if (e.transport->streams > 1)
    strategy.fail("transport", "has several streams, which a kvstore has not; expected 1");
  if (e.transport->coordinator->policy(nullptr, {}, *e.cluster)) {
    strategy.fail("transport",
                  "has a coordinator, which a kvstore has not; expected {\"type\": \"none\"} under "
                  "\"coordinator\"");
  }
}

void KvstoreRun::check_strategy(const Config& strategy, const Experiment& e) const {
  check_kvstore(strategy, e);
  if (e.schedule->policy({})) {
    strategy.fail("schedule",
                  "decides while the step runs, but this kvstore takes keys as its engine does; "
                  "expected one that plans beforehand");
  }
}

PlannedStep KvstoreRun::plan(const Experiment& e, const Wanted&) const {
  PlannedStep step = closed_plan(e);
  // Parameters that workers train by themselves are there when the backward pass has ended.
  if (e.update->trainers(e.cluster->workers()) > 1) step.plan.after_backward = true;
  spdlog::debug("{}: played in an engine, {} keys a step", e.name, step.plan.buckets.size());
  return step;
}

namespace {

/// With a bucket there for each key, however its node adds it up.
TrainingPlan plan_served(const Experiment& e) {
  TrainingPlan plan = plan_training(e);
  ServerGroup whole = e.aggregation->servers;
  whole.count = 1;
  const Convergence* const learns = e.run->convergence.get();
  plan.pieces_beyond = cut_pieces_beyond(e.workload->workload, plan.units, plan.step.buckets, whole,
                                         e.aggregation->beyond->servers, e.schedule->granularity(),
                                         learns != nullptr ? learns->problem->parameters() : 0);
  return plan;
}

/// With one of the seeds. `served`: null: one node without servers.
template <class Seed>
ModuleRun run_of(const Experiment& e, const PlannedStep& step, const TrainingPlan* served,
                 const Seed& seed) {
  const Convergence* const learns = e.run->convergence.get();
  const std::int64_t learning = learns == nullptr ? 0 : learns->steps(e.cluster->workers());
  return {.cluster = *e.cluster,
          .aggregation = *e.aggregation,
          .update = *e.update,
          .embedding = *e.embedding,
          .served = served,
          .steps = std::max(e.run->steps.value_or(e.update->default_steps()), learning),
          .seed = seed.seed,
          .seeds = seeds_of(e),
          .variation = step.machines.variation,
          .learning = learning,
          .attributes = seed.attributes,
          .timeline = seed.timeline,
          .on_progress = seed.on_progress};
}

}  // namespace

EmbeddedStep KvstoreRun::play(const Experiment& e, const PlannedStep& step,
                              const Seed& seed) const {
  std::optional<TrainingPlan> served;
  if (e.aggregation->beyond) served = plan_served(e);
  return module_step(step.plan, e.workload->workload, step.units,
                     run_of(e, step, served ? &*served : nullptr, seed));
}

Result NodeRun::run(const Experiment& e, const Wanted& wanted) const {
  const PlannedStep step = plan(e, wanted);
  const TrainingPlan served = plan_served(e);
  TrainingPlan nodes = served;
  nodes.aggregation.clients = e.cluster->nodes;
  nodes.on_progress = wanted.on_progress;
  const auto play = [&](const TrainingPlan& of, std::int64_t seed, Learner* learner,
                        Timeline* timeline, Causes* causes) {
    const Seed of_run{seed, timeline, causes != nullptr, of.on_progress};
    return module_nodes(step.plan, e.workload->workload, step.units,
                        run_of(e, step, &served, of_run), of, learner, causes);
  };
  return result_of_training(
      e, nodes, run_training(e, nodes, wanted.timeline, wanted.buckets != nullptr, play), wanted);
}

}  // namespace steptime
