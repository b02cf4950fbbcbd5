#include "sim/experiment/runs/training_programs.h"

#include "sim/experiment/keys.h"
#include "sim/experiment/played_cluster.h"
#include "sim/experiment/runs/kvstore_run.h"
#include "sim/experiment/runs/training_result.h"
#include "sim/experiment/training_run.h"
#include "sim/network/read_cluster.h"
#include "sim/training/play.h"

#include <utility>

#include <spdlog/spdlog.h>

namespace steptime {

void TrainingPrograms::check(const Experiment& e, const DocumentOf& document) const {
  check_machines(e);
  if (!e.aggregation->beyond) return;
  const Config config(document(), experiment_params());
  if (e.cluster->intra_node_beside_kernels > 1) {
    config.object("cluster", cluster_params())
        .fail("intra_node_beside_kernels",
              "what a kvstore adds up on a node is not slowed down by kernels; expected 1");
  }
  check_kvstore(config.object("strategy", strategy_params()), e);
}

void TrainingPrograms::check_training(const Experiment& e) const {
  check_programs(plan_training(e));
}

Result TrainingPrograms::run(const Experiment& e, const Wanted& wanted) const {
  spdlog::debug(
      "{}: played client by client, as workers, servers, updates, streams or the schedule ask for "
      "it",
      e.name);
  TrainingPlan plan = plan_training(e);
  plan.on_progress = wanted.on_progress;
  // With causes a message takes about twice as long.
  constexpr double kMostAttributed = 2e7;
  const double work = work_of(plan);
  const bool attributes = wanted.buckets != nullptr && work <= kMostAttributed;
  if (wanted.buckets != nullptr && !attributes) {
    spdlog::info("{}: no attribution, as the run has more than {:.0e} messages and all-reduces",
                 e.name, kMostAttributed);
  }
  if (wanted.timeline != nullptr) {
    // Each message on its client and on its server's thread, or on all clients; gradients, which
    // are no more; each step's two passes, of a single client layer by layer.
    const auto clients = static_cast<double>(plan.trainers());
    const auto layers = static_cast<double>(plan.workload->trace.layers.size());
    check_bars((plan.workers_meet() ? clients : 3) * work +
               2 * (clients == 1 ? layers : clients) * static_cast<double>(plan.played_steps()));
  }
  TrainingOutcome played = run_training(e, plan, wanted.timeline, attributes);
  return result_of_training(e, plan, std::move(played), wanted);
}

}  // namespace steptime
