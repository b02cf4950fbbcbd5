#include "sim/experiment/assessment.h"

#include "sim/core/error.h"
#include "sim/experiment/runs/execution.h"
#include "sim/mxnet/merge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace steptime {

std::string unlike_gpus(KindWord worked, const Cluster& cluster) {
  struct Generation {
    std::int64_t first;  ///< compute capability
    KindWord word;
  };
  static const std::array generations{
      Generation{30, "Kepler"}, Generation{50, "Maxwell"}, Generation{60, "Pascal"},
      Generation{70, "Volta"},  Generation{75, "Turing"},  Generation{80, "Ampere"},
      Generation{89, "Ada"},    Generation{90, "Hopper"},  Generation{100, "Blackwell"}};
  const std::int64_t capability = cluster.gpus ? cluster.gpus->compute_capability : 0;
  const auto* const known =
      std::find_if(generations.begin(), generations.end(),
                   [&](const Generation& generation) { return generation.word == worked; });
  if (capability == 0 || known == generations.end()) return "";
  const auto* const next = std::next(known);
  if (capability >= known->first && (next == generations.end() || capability < next->first))
    return "";
  return fmt::format("compute times of {} on a cluster of GPUs of compute capability {}.{}",
                     worked.text(), capability / 10, capability % 10);
}

namespace {

/// What of the collectives of its steps, of a kvstore's merge or of servers is beyond what they
/// were made for.
void extrapolate_exchanges(const Experiment& e, const StepPlan& plan,
                           std::vector<std::string>& beyond) {
  if (e.aggregation->merge) {
    std::vector<std::int64_t> keys;
    for (const Bucket& bucket : plan.buckets)
      keys.push_back(bucket.bytes.count);
    if (std::string outside = e.aggregation->merge->outside_domain(keys); !outside.empty())
      beyond.push_back(std::move(outside));
    return;
  }
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
  const bool plays_nodes = e.embedding->merge(*e.aggregation) != nullptr;
  if (e.aggregation->meets_in_nodes() && !plays_nodes && e.cluster->node &&
      e.cluster->gpus_per_node > 1)
    beyond.emplace_back("closed forms know the GPUs' links to their host, not what they share");
  if (!e.aggregation->unknown_fabric.empty()) beyond.push_back(e.aggregation->unknown_fabric);
}

/// The longest of those that a message may meet, s. That inside the nodes counts even where a
/// library's estimates have their own in its place.
double latency_s(const Cluster& cluster) {
  const double inside = to_seconds(cluster.intra_node.latency);
  const double between = to_seconds(cluster.network.latency);
  if (cluster.nodes == 1) return inside;
  return cluster.gpus_per_node == 1 ? between : std::max(inside, between);
}

/// What was measured: what a worker computes at its usual speed. That others wait for one that is
/// slower is the simulation's.
double usual_compute_s(const Experiment& e, const Result& r) {
  if (e.layout) return r.compute_time_s;
  const PassTimes& passes = e.workload->passes;
  return to_seconds(passes.forward + passes.backward);
}

}  // namespace

std::vector<std::string> extrapolated(const Experiment& e, const StepPlan& plan,
                                      bool is_recurrence) {
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
  add(unlike_gpus(e.kind[Attribute::kGpu], *e.cluster));
  if (e.run->slow_links) add("which links are slow is the experiment's own");
  if (e.schedule->plans_for_the_recurrence() && !is_recurrence) {
    add("the schedule's plan is the best one only for all-reduces one after another that cost "
        "kernels nothing");
  }
  if (const auto& overlap = e.workload->workload.overlap) add(overlap->outside_domain());
  add(e.transport->channel->outside_domain());
  add(e.transport->backend->outside_domain());
  add(e.transport->coordinator->outside_domain());
  extrapolate_exchanges(e, plan, beyond);
  return beyond;
}

Prediction prediction_of(const Experiment& e, const Result& r) {
  Prediction prediction{.kind = e.kind,
                        .workers = e.cluster->workers(),
                        .gpus_per_node = e.cluster->gpus_per_node,
                        .samples = e.workload->workload.trace.batch,
                        .latency_s = latency_s(*e.cluster),
                        .has_servers = e.aggregation->servers.count > 0,
                        .step_s = r.step_time_s - r.exposed_input_s.value_or(0),
                        .compute_s = usual_compute_s(e, r),
                        .comm_busy_s = r.comm_busy_s,
                        .modelled = e.workload->workload.trace.modelled};
  if (e.cluster->nodes > 1 && e.cluster->kind) {
    const NetworkKind::Known known = e.cluster->kind->known();
    prediction.slowest_rate = known.slowest;
    prediction.fastest_rate = known.fastest;
    prediction.comm_busy_s = std::max(prediction.comm_busy_s, r.server_ports_s);
  }
  if (e.execution != nullptr) e.execution->tell(prediction);
  return prediction;
}

Interval with_median(Interval interval, const Result& result) {
  if (!result.step_percentiles) return interval;
  const double median = result.step_percentiles->p50;
  return {std::min(interval.low, median), std::max(interval.high, median)};
}

void assess(const Experiment& e, Result& r, std::vector<std::string> beyond) {
  if (e.run->failures)
    r.failures = e.run->failures->times(r.step_time_s, e.cluster->nodes, e.run->seed);
  Prediction prediction = prediction_of(e, r);
  prediction.beyond = std::move(beyond);
  Assessment assessment = TrackRecord::of(prediction.kind).assess(prediction);
  r.domain = std::move(assessment.domain);
  r.step_time_interval_s = with_median(assessment.step_s, r);
}

void derive(const Experiment& e, const StepPlan& plan, Result& r, bool is_recurrence,
            std::vector<std::string> beyond) {
  const Workload& workload = e.workload->workload;
  r.memory = workload.trace.memory;
  const auto workers = static_cast<double>(e.cluster->workers());
  const auto batch = static_cast<double>(workload.trace.batch);
  if (r.step_time_s == 0) throw RangeError("a step takes no time at all");
  const double step_s = r.rate_per_s ? 1 / *r.rate_per_s : r.step_time_s;
  r.throughput_samples_per_s = workers * batch / step_s;
  const double alone =
      e.alone ? to_seconds(e.alone->passes.forward + e.alone->passes.backward) : r.compute_time_s;
  r.scaling_efficiency = alone / step_s;
  r.speedup = workers * r.scaling_efficiency;
  r.workers = e.cluster->workers();
  if (workload.dataset_samples) {
    const double steps =
        std::ceil(static_cast<double>(*workload.dataset_samples) / (workers * batch));
    r.epoch_time_s = steps * step_s;
  }
  std::ranges::move(extrapolated(e, plan, is_recurrence), std::back_inserter(beyond));
  assess(e, r, std::move(beyond));
  Interval& interval = r.step_time_interval_s;
  // Where the host took longer than the device, under the profiler, which slows it down, the device
  // may wait for it.
  const Duration waits = workload.trace.host - workload.trace.forward() - workload.trace.backward();
  interval.high = std::max(interval.high, r.step_time_s + to_seconds(waits));
  if (plan.input == Duration{}) return;
  // No step ends before its pipeline, whose time is as certain as a measured one of a single
  // worker.
  const Interval input =
      TrackRecord::of({}).assess({.workers = 1, .step_s = to_seconds(plan.input)}).step_s;
  // Some steps may live on samples that others, which took longer, left over.
  interval = {std::min(r.step_time_s, std::max(interval.low, input.low)),
              std::max(interval.high, input.high)};
}

}  // namespace steptime
