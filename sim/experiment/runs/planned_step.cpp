#include "sim/experiment/runs/planned_step.h"

#include "sim/collective/message_time.h"
#include "sim/experiment/assessment.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

namespace steptime {

PlannedStep plan_step_of(const Experiment& e, const Wanted& wanted) {
  PlannedStep step = closed_plan(e);
  if (e.run->fidelity == Fidelity::kMessage) {
    play_buckets(step.plan, *step.machines.cluster, *e.collective, wanted.buckets != nullptr,
                 wanted.on_progress);
  }
  return step;
}

namespace {

SentBucket sent_bucket(std::span<const GradientUnit> units, const Bucket& bucket, Duration ready,
                       Duration start, Duration end) {
  SentBucket sent{{}, bucket.bytes, to_seconds(ready), to_seconds(start), to_seconds(end)};
  for (const GradientUnit& unit : bucket.of(units))
    sent.tensors.push_back(unit.name);
  return sent;
}

}  // namespace

std::vector<SentBucket> sent_buckets(const PlannedStep& step, std::span<const BucketTimes> times) {
  std::vector<SentBucket> sent;
  for (std::size_t i = 0; i < times.size(); ++i) {
    sent.push_back(sent_bucket(step.units, step.plan.buckets[i], times[i].ready, times[i].start,
                               times[i].end));
  }
  std::stable_sort(sent.begin(), sent.end(),
                   [](const SentBucket& a, const SentBucket& b) { return a.start_s < b.start_s; });
  return sent;
}

std::vector<LinkUse> links_of(const Experiment& e, const StepPlan& plan, const Cluster& cluster,
                              const Carried& carried) {
  if (e.run->fidelity != Fidelity::kMessage) return {};
  constexpr double kMost = 2e6;  // messages of two links
  const Machine machine(cluster);
  std::map<std::int64_t, std::vector<std::int64_t>> known;  // of each channel, by size
  std::vector<std::int64_t> sum(static_cast<std::size_t>(machine.channel_count()));
  double cost = 0;
  for (const Bucket& bucket : plan.buckets) {
    auto found = known.find(bucket.bytes.count);
    if (found == known.end()) {
      cost += play_cost(e.collective->programs(bucket.bytes), machine);
      if (cost > kMost) return {};
      CarriedAlone alone = carried_alone(*e.collective, cluster, machine, bucket.bytes);
      found = known.emplace(bucket.bytes.count, std::move(alone.bytes)).first;
    }
    std::ranges::transform(sum, found->second, sum.begin(), std::plus());
  }
  return link_uses(cluster, machine, sum, carried);
}

void set_compute(const StepPlan& plan, double seconds, Result& r) {
  const double nominal = to_seconds(plan.forward + plan.backward);
  const double stretch = nominal > 0 ? seconds / nominal : 0;
  r.compute_time_s = seconds;
  r.forward_time_s = to_seconds(plan.forward) * stretch;
  r.backward_time_s = to_seconds(plan.backward) * stretch;
}

Result result_of(const Experiment& e, const StepPlan& plan, const StepTimes& times,
                 bool is_recurrence) {
  Result r;
  r.step_time_s = to_seconds(times.step);
  set_compute(plan, to_seconds(times.compute), r);
  r.comm_busy_s = to_seconds(times.comm_busy);
  r.exposed_comm_s = to_seconds(times.exposed_comm);
  if (plan.input > Duration{}) r.exposed_input_s = to_seconds(times.exposed_input);
  r.messages = static_cast<std::int64_t>(plan.buckets.size());
  r.fingerprint = times.fingerprint;
  derive(e, plan, r, is_recurrence);
  return r;
}

}  // namespace steptime
