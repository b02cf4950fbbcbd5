#include "sim/experiment/runs/execution_of.h"

#include "sim/core/error.h"
#include "sim/experiment/runs/jobs_run.h"
#include "sim/experiment/runs/kvstore_run.h"
#include "sim/experiment/runs/layout_run.h"
#include "sim/experiment/runs/one_step.h"
#include "sim/experiment/runs/rank_run.h"
#include "sim/experiment/runs/training_programs.h"
#include "sim/step/host_work.h"

#include <memory>

#include <fmt/format.h>

namespace steptime {

const Execution& execution_of(const Experiment& e) {
  static const LayoutPrograms layout;
  static const KvstoreRun kvstore;
  static const NodeRun nodes;
  static const RankRun ranks;
  static const ClientRun clients;
  static const OneStep one_step;
  static const TrainingPrograms training;
  static const JobsRun jobs;
  if (e.jobs) return jobs;
  if (e.layout) return layout;
  const bool they_meet = !e.embedding->has_main_thread() || e.update->has_met(e.update->period());
  if (e.embedding->merge(*e.aggregation) != nullptr) return they_meet ? kvstore : nodes;
  if (e.embedding->has_main_thread()) return they_meet ? ranks : clients;
  if (is_one_step(e)) return one_step;
  return training;
}

void complete(Experiment& e, const Execution::DocumentOf& document) {
  if (e.alone) {
    const bool copies = !e.layout && e.cluster->workers() > 1 &&
                        e.aggregation->servers.count == 0 && e.schedule->copies_gradients() &&
                        e.alone->in_buckets;
    e.workload = copies ? e.alone->in_buckets : e.alone;
    const auto* own = dynamic_cast<const HostWork*>(e.schedule.get());
    if (own != nullptr && own->between_passes() > Duration{} && !e.layout &&
        e.cluster->workers() > 1) {
      if (e.aggregation->servers.count > 0) {
        throw InputError(fmt::format(
            "{}: /strategy/schedule/between_passes: expected 0 s with servers, got \"{}\": what a "
            "framework does there is known of all-reduces only",
            e.file, format_quantity(own->between_passes())));
      }
      e.workload = std::make_shared<PreparedWorkload>(
          with_host_work(e.alone->workload, own->between_passes()));
    }
  }
  // A workload that was not read from a config has no words.
  e.kind =
      joined(e.workload_kind ? *e.workload_kind : KindOfStep(), *e.exchange_kind, e.schedule_word);
  e.execution = &execution_of(e);
  e.execution->check(e, document);
}

}  // namespace steptime
