#include "sim/experiment/runs/one_step.h"

#include "sim/core/fast_paths.h"
#include "sim/experiment/link_tracks.h"
#include "sim/experiment/played_cluster.h"
#include "sim/experiment/runs/planned_step.h"
#include "sim/experiment/training_run.h"
#include "sim/training/play.h"

#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

namespace steptime {
namespace {

struct Step {
  StepTimes times;
  std::vector<BucketTimes> buckets;
};

/// By the program of a worker that stands for all.
Step play(const Experiment& e, Timeline* timeline) {
  const TrainingPlan plan = plan_training(e);
  if (timeline != nullptr) {
    check_bars(static_cast<double>(plan.steps) *
               static_cast<double>(plan.step.buckets.size() +
                                   2 * e.workload->workload.trace.layers.size()));
  }
  const TrainingTimes played = play_programs(plan, e.run->seed, nullptr, timeline);
  std::vector<BucketTimes> buckets = played.by_bucket();
  return {
      played_step(plan.step, buckets, from_seconds(played.step_s), from_seconds(played.input_s)),
      std::move(buckets)};
}

}  // namespace

bool ends_as_it_began(const Experiment& e) {
  return e.aggregation->servers.count == 0 && e.update->ends_together() && !e.run->convergence;
}

bool is_one_step(const Experiment& e) {
  const bool takes_turns =
      e.cluster->workers() == 1 ||
      (e.transport->streams == 1 && !e.transport->policy(*e.schedule, {}, *e.cluster));
  return takes_turns && ends_as_it_began(e) && !e.run->variation.any() && !kernels_slow_links(e);
}

void OneStep::check(const Experiment& e, const DocumentOf&) const {
  check_machines(e);
}

Result OneStep::run(const Experiment& e, const Wanted& wanted) const {
  const PlannedStep step = plan_step_of(e, wanted);
  spdlog::debug("{}: {} workers move in step, closed form, {} all-reduces a step", e.name,
                e.cluster->workers(), step.plan.buckets.size());
  const bool is_recurrence = takes(FastPath::kOneStep, true);
  Step played;
  if (!is_recurrence || wanted.timeline != nullptr) played = play(e, wanted.timeline);
  if (wanted.buckets != nullptr)
    *wanted.buckets = sent_buckets(step, is_recurrence ? bucket_times(step.plan) : played.buckets);
  Result result = result_of(e, step.plan, is_recurrence ? closed_step(step.plan) : played.times,
                            step.plan.beside.empty());
  if (wanted.buckets == nullptr) return result;
  result.attribution = attribution(step.plan, *e.collective);
  result.links = links_of(e, step.plan, *step.machines.cluster, {.seconds = result.step_time_s});
  return result;
}

void OneStep::draw_links(const Experiment& e, Timeline& timeline) const {
  add_link_tracks(timeline, e);
}

}  // namespace steptime
