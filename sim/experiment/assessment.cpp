#include "sim/experiment/assessment.h"

#include "sim/core/error.h"
#include "sim/experiment/prediction.h"
#include "sim/network/fabric_rate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace steptime {

std::vector<std::string> extrapolated(const Experiment& e, bool is_recurrence) {
  std::vector<std::string> beyond;
  beyond.reserve(8);
  const auto add = [&](const std::string& outside) {
    if (!outside.empty()) beyond.push_back(outside);
  };
  if (const std::string& domain = e.workload->workload.trace.domain; domain != "inside")
    add(domain);
  if (const auto& memory = e.workload->workload.trace.memory; memory && memory->is_too_much()) {
    add(fmt::format("a step needs {:.4g} GB at least, the device has {:.4g} GB",
                    static_cast<double>(memory->total().count) / 1e9,
                    static_cast<double>(memory->device->count) / 1e9));
  }
  if (e.cluster->nodes > 1 && e.cluster->kind) add(e.cluster->kind->outside_domain());
  if (e.workload_kind) add(unlike_gpus(*e.workload_kind, *e.cluster));
  if (e.run->slow_links) add("which links are slow is the experiment's own");
  if (e.schedule->plans_for_the_recurrence() && !is_recurrence) {
    add("the schedule's plan is the best one only for all-reduces one after another that cost "
        "kernels nothing");
  }
  if (const auto& overlap = e.workload->workload.overlap) add(overlap->outside_domain());
  add(e.transport->channel->outside_domain());
  add(e.transport->backend->outside_domain());
  add(e.transport->coordinator->outside_domain());
  return beyond;
}

void extrapolate_collectives(const Experiment& e, const StepPlan& plan,
                             std::vector<std::string>& beyond) {
  if (e.run->fidelity == Fidelity::kMessage) {  // the messages are what they are
    if (e.cluster->nodes == 1 && e.aggregation->servers.count > 0 &&
        e.aggregation->meets_in_nodes()) {
      beyond.emplace_back(
          "messages to servers beside their workers go through the node's port to the network");
    }
    return;
  }
  for (const Bucket& bucket : plan.buckets) {
    const std::string outside = e.collective->outside_domain(bucket.bytes);
    if (!outside.empty()) beyond.push_back(outside);
    if (!outside.empty() || e.collective->linear()) break;  // which says the same of all
  }
  if (e.aggregation->meets_in_nodes() && e.cluster->node && e.cluster->gpus_per_node > 1)
    beyond.emplace_back("closed forms know the GPUs' links to their host, not what they share");
}

namespace {

/// Of what is not played in messages, what takes the fabric for one switch; "" for nothing.
std::string taken_for_a_switch(const Experiment& e) {
  if (e.run->fidelity == Fidelity::kMessage || e.layout || is_like_one_switch(*e.cluster))
    return "";
  const Aggregation& aggregation = *e.aggregation;
  const std::int64_t members = e.cluster->workers() / aggregation.clients;
  if (aggregation.servers.count > 0)
    return "closed forms of servers take the fabric for one switch; \"message\" fidelity does not";
  if (members > e.cluster->gpus_per_node && e.collective->programs({1}).empty())
    return "a collective that is known by its time only knows no fabric but one switch";
  return "";
}

}  // namespace

void assess(const Experiment& e, Result& r, std::vector<std::string> beyond) {
  if (std::string outside = taken_for_a_switch(e); !outside.empty())
    beyond.push_back(std::move(outside));
  if (e.run->failures)
    r.failures = e.run->failures->times(r.step_time_s, e.cluster->nodes, e.run->seed);
  const Prediction prediction = prediction_of(e, r, std::move(beyond));
  Assessment assessment = TrackRecord::of(prediction.kind).assess(prediction);
  r.domain = std::move(assessment.domain);
  r.step_time_interval_s = with_median(assessment.step_s, r);
}

void derive(const Experiment& e, const StepPlan& plan, Result& r, std::vector<std::string> beyond) {
  const Workload& workload = e.workload->workload;
  r.memory = workload.trace.memory;
  const auto workers = static_cast<double>(e.cluster->workers());
  const auto batch = static_cast<double>(workload.trace.batch);
  if (r.step_time_s == 0) throw RangeError("a step takes no time at all");
  r.throughput_samples_per_s = workers * batch / r.step_time_s;
  const double alone =
      e.alone ? to_seconds(e.alone->passes.forward + e.alone->passes.backward) : r.compute_time_s;
  r.scaling_efficiency = alone / r.step_time_s;
  r.speedup = workers * r.scaling_efficiency;
  r.workers = e.cluster->workers();
  if (workload.dataset_samples) {
    const double steps =
        std::ceil(static_cast<double>(*workload.dataset_samples) / (workers * batch));
    r.epoch_time_s = steps * r.step_time_s;
  }
  assess(e, r, std::move(beyond));
  if (plan.input == Duration{}) return;
  // No step ends before its pipeline, whose time is as certain as a measured one of a single
  // worker.
  const Interval input =
      TrackRecord::of({}).assess({.workers = 1, .step_s = to_seconds(plan.input)}).step_s;
  Interval& interval = r.step_time_interval_s;
  interval = {std::max(interval.low, input.low), std::max(interval.high, input.high)};
}

}  // namespace steptime
