#include "sim/experiment/runs/training_result.h"

#include "sim/core/fingerprint.h"
#include "sim/experiment/assessment.h"
#include "sim/experiment/played_cluster.h"
#include "sim/experiment/runs/planned_step.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace steptime {
namespace {

/// Of client 0, with the first seed.
std::vector<SentBucket> sent_buckets(const TrainingPlan& plan, const TrainingTimes& times) {
  std::vector<SentBucket> sent;
  for (const TrainingTimes::Sent& message : times.sent) {
    SentBucket together{
        {}, {}, to_seconds(message.ready), to_seconds(message.start), to_seconds(message.end)};
    for (const std::int32_t b : message.buckets) {
      const Bucket& bucket = plan.step.buckets[static_cast<std::size_t>(b)];
      together.bytes += bucket.bytes;
      for (const GradientUnit& unit : bucket.of(plan.units))
        together.tensors.push_back(unit.name);
    }
    sent.push_back(std::move(together));
  }
  return sent;
}

/// What the busier ports of servers and their clients take for pushes or for pulls.
double server_ports_s(const TrainingPlan& plan) {
  Bytes all;
  for (const GradientUnit& unit : plan.units)
    all += unit.bytes;
  const auto clients = static_cast<double>(plan.aggregation.clients / plan.pushing());
  const double per_port =
      std::max(1.0, clients / static_cast<double>(plan.aggregation.last_servers().count));
  return per_port * static_cast<double>(all.count) /
         plan.cluster.network.bandwidth.bytes_per_second;
}

}  // namespace

Result result_of_training(const Experiment& e, const TrainingPlan& plan, TrainingOutcome played,
                          const Wanted& wanted, std::vector<std::string> beyond) {
  auto outcome = std::make_shared<TrainingOutcome>(std::move(played));
  const auto runs = static_cast<double>(outcome->runs.size());
  Result r;
  double messages = 0;
  double input_s = 0;
  std::vector<double> steps;
  for (const TrainingTimes& run : outcome->runs) {
    steps.push_back(run.step_s);
    r.step_time_s += run.step_s / runs;
    r.compute_time_s += run.compute_s / runs;
    input_s += run.input_s / runs;
    r.comm_busy_s += run.server_busy_s / runs;
    messages += run.messages_per_step / runs;
    if (run.rate_per_s) r.rate_per_s = r.rate_per_s.value_or(0) + *run.rate_per_s / runs;
    if (run.cold_step_s)
      r.cold_step_time_s = r.cold_step_time_s.value_or(0) + *run.cold_step_s / runs;
    r.fingerprint = mix(r.fingerprint, run.fingerprint);
  }
  r.seeds = static_cast<std::int64_t>(steps.size());
  if (steps.size() > 1) r.step_percentiles = percentiles_of(std::move(steps));
  set_compute(plan.step, r.compute_time_s, r);
  const double exposed = r.step_time_s - r.compute_time_s;
  // The slowest worker waits for its samples less than the mean one.
  if (plan.step.input > Duration{}) input_s = std::min(input_s, std::max(exposed, 0.0));
  if (plan.step.input > Duration{}) r.exposed_input_s = input_s;
  r.exposed_comm_s = exposed - input_s;
  r.messages = std::llround(messages);
  if (outcome->has_servers()) {
    r.server_ports_s = server_ports_s(plan);
  } else {  // the clients' all-reduces, which servers do not see
    double all_reduces = 0;
    for (const TrainingTimes& run : outcome->runs) {
      all_reduces += run.all_reduces / runs;
      r.comm_busy_s += run.reduce_busy_s / runs;
    }
    r.messages = std::llround(all_reduces);
  }
  if (wanted.buckets != nullptr) {
    *wanted.buckets = sent_buckets(plan, outcome->runs.front());
    r.attribution = outcome->attribution();
    r.links = outcome->runs.front().links;
    if (plan.inside_parts) {
      // In steps without an exchange links carry nothing.
      const double steps = plan.workers_meet()
                               ? static_cast<double>(plan.steps) /
                                     static_cast<double>(plan.update->exchanges_in(plan.steps))
                               : 1;
      r.links = links_of(e, plan.step, plan.cluster, {steps * r.step_time_s, steps});
    }
  }
  r.training = std::move(outcome);
  derive(e, plan.step, r, false, std::move(beyond));
  return r;
}

}  // namespace steptime
