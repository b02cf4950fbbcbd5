#include "sim/experiment/runs/one_step.h"

#include "sim/core/fast_paths.h"
#include "sim/core/fingerprint.h"
#include "sim/experiment/assessment.h"
#include "sim/experiment/link_tracks.h"
#include "sim/experiment/played_cluster.h"
#include "sim/experiment/runs/planned_step.h"
#include "sim/experiment/training_run.h"
#include "sim/training/play.h"

#include <utility>

#include <spdlog/spdlog.h>

namespace steptime {
namespace {

TrainingTimes play(const Experiment& e, Timeline* timeline) {
  const TrainingPlan plan = plan_training(e);
  if (timeline != nullptr) {
    check_bars(static_cast<double>(plan.steps) *
               static_cast<double>(plan.step.buckets.size() +
                                   2 * e.workload->workload.trace.layers.size()));
  }
  return play_programs(plan, e.run->seed, nullptr, nullptr, 0, timeline);
}

/// By bucket, what the worker's program that stands for all says.
std::vector<RankRecord::KeyTimes> buckets_of(const StepPlan& plan, const TrainingTimes& played) {
  std::vector<RankRecord::KeyTimes> buckets(plan.buckets.size());
  for (const TrainingTimes::Sent& sent : played.sent)
    buckets[static_cast<std::size_t>(sent.buckets.front())] = {sent.ready, sent.start, sent.end};
  return buckets;
}

StepTimes times_of(const StepPlan& plan, const TrainingTimes& played) {
  std::vector<Duration> ends;
  Duration busy{};
  for (const auto& bucket : buckets_of(plan, played)) {
    ends.push_back(bucket.end);
    busy += bucket.end - bucket.start;
  }
  const Duration step = from_seconds(played.step_s);
  const Duration input = from_seconds(played.input_s);
  return {step, busy, step - input - plan.forward - plan.backward,
          step_fingerprint(plan.forward, plan.backward, ends), input};
}

}  // namespace

bool ends_as_it_began(const Experiment& e) {
  return e.aggregation->servers.count == 0 && e.update->ends_together() && !e.run->convergence;
}

bool is_one_step(const Experiment& e) {
  const bool takes_turns =
      e.cluster->workers() == 1 ||
      (e.transport->streams == 1 && !e.transport->policy(*e.schedule, {}, *e.cluster));
  return takes_turns && ends_as_it_began(e) && !e.run->variation.any();
}

void OneStep::check(const Experiment& e, const DocumentOf&) const {
  check_machines(e);
}

Result OneStep::run(const Experiment& e, const Wanted& wanted) const {
  const PlannedStep step = plan_step_of(e, wanted);
  spdlog::debug("{}: {} workers move in step, closed form, {} all-reduces a step", e.name,
                e.cluster->workers(), step.plan.buckets.size());
  if (wanted.timeline != nullptr) play(e, wanted.timeline);
  const bool is_recurrence = takes(FastPath::kOneStep, true);
  const TrainingTimes played = is_recurrence ? TrainingTimes{} : play(e, nullptr);
  const StepTimes times = is_recurrence ? closed_step(step.plan) : times_of(step.plan, played);
  std::vector<std::string> beyond = extrapolated(e, step.plan.beside.empty());
  extrapolate_collectives(e, step.plan, beyond);
  Result result = result_of(e, step.plan, times, std::move(beyond));
  if (wanted.buckets == nullptr) return result;
  *wanted.buckets =
      is_recurrence ? sent_buckets(step) : sent_buckets(step, buckets_of(step.plan, played));
  result.attribution = attribution(step.plan, *e.collective);
  result.links = links_of(e, step.plan, result.step_time_s);
  return result;
}

void OneStep::draw_links(const Experiment& e, Timeline& timeline) const {
  add_link_tracks(timeline, e);
}

}  // namespace steptime
