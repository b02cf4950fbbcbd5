#include "sim/experiment/simulate.h"

#include "sim/collective/message_time.h"
#include "sim/core/error.h"
#include "sim/core/fingerprint.h"
#include "sim/experiment/engine_run.h"
#include "sim/experiment/layout_run.h"
#include "sim/experiment/played_cluster.h"
#include "sim/experiment/prediction.h"
#include "sim/mxnet/mean_step.h"
#include "sim/mxnet/merge.h"
#include "sim/training/play.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace steptime {
namespace {

struct PlannedStep {
  const PreparedWorkload& workload;
  const std::vector<GradientUnit>& units;
  StepPlan plan;
};

/// The keys of a kvstore that merges in an engine.
PlannedStep merge_plan_of(const Experiment& e) {
  const auto& units = e.workload->units(e.schedule->granularity());
  PlannedStep step{*e.workload, units,
                   plan_step(e.workload->workload, e.workload->passes, units,
                             e.schedule->plan(units, *e.aggregation->whole), *e.collective,
                             e.cluster->workers())};
  step.plan.input = input_time(e);
  if (e.update->sends_parameters()) step.plan.after_backward = true;  // which ends with them
  return step;
}

/// `explains`: what played collectives take is told in parts.
PlannedStep plan_of(const Experiment& e, bool explains, const OnProgress& on_progress) {
  if (plays_merge(e)) return merge_plan_of(e);
  const auto& units = e.workload->units(e.schedule->granularity());
  BucketPlan buckets;
  if (e.cluster->workers() > 1) buckets = e.schedule->plan(units, *e.collective);
  PlannedStep step{
      *e.workload, units,
      plan_step(e.workload->workload, e.workload->passes, units, buckets, *e.collective,
                e.cluster->workers(), e.aggregation->beside_kernels.get())};
  step.plan.input = input_time(e);
  if (e.run->fidelity == Fidelity::kMessage)
    play_buckets(step.plan, *played_cluster(e), *e.collective, explains, on_progress);
  return step;
}

/// What parts of the simulation extrapolate.
std::vector<std::string> extrapolated(const Experiment& e, const StepPlan& plan) {
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
  if (e.run->slow_links) add("which links are slow is the experiment's own");
  const bool is_recurrence = !needs_training(e) && !plays_in_engine(e) && plan.beside.empty();
  if (e.schedule->plans_for_the_recurrence() && !is_recurrence) {
    add("the schedule's plan is the best one only for all-reduces one after another that cost "
        "kernels nothing");
  }
  if (const auto& overlap = e.workload->workload.overlap) add(overlap->outside_domain());
  add(e.transport->channel->outside_domain());
  add(e.transport->backend->outside_domain());
  add(e.transport->coordinator->outside_domain());
  if (plays_merge(e)) {
    std::vector<std::int64_t> keys;
    for (const Bucket& bucket : plan.buckets)
      keys.push_back(bucket.bytes.count);
    add(e.aggregation->merge->outside_domain(keys));
    return beyond;
  }
  if (e.run->fidelity == Fidelity::kMessage) {  // the messages are what they are
    if (e.cluster->nodes == 1 && e.aggregation->servers.count > 0 &&
        e.aggregation->servers.placement != ServerGroup::Placement::kOwnNodes)
      add("messages to servers beside their workers go through the node's port to the network");
    return beyond;
  }
  for (const Bucket& bucket : plan.buckets) {
    const std::string outside = e.collective->outside_domain(bucket.bytes);
    add(outside);
    if (!outside.empty() || e.collective->linear()) break;  // which says the same of all
  }
  const bool inside_nodes = e.aggregation->beyond ||
                            (e.aggregation->servers.count > 0 &&
                             e.aggregation->servers.placement != ServerGroup::Placement::kOwnNodes);
  if (inside_nodes && e.cluster->node && e.cluster->gpus_per_node > 1)
    add("closed forms know the GPUs' links to their host, not what they share");
  return beyond;
}

/// What is known of such a step, and what follows from its length.
void assess(const Experiment& e, Result& r, std::vector<std::string> beyond) {
  if (e.run->failures)
    r.failures = e.run->failures->times(r.step_time_s, e.cluster->nodes, e.run->seed);
  Assessment assessment = TrackRecord::shipped().assess(prediction_of(e, r, std::move(beyond)));
  r.domain = std::move(assessment.domain);
  r.step_time_interval_s = with_median(assessment.step_s, r);
}

/// The figures that follow from step and compute time.
void derive(const Experiment& e, const StepPlan& plan, Result& r) {
  const Workload& workload = e.workload->workload;
  r.memory = workload.trace.memory;
  const auto workers = static_cast<double>(e.cluster->workers());
  const auto batch = static_cast<double>(workload.trace.batch);
  if (r.step_time_s == 0) throw RangeError("a step takes no time at all");
  r.throughput_samples_per_s = workers * batch / r.step_time_s;
  r.scaling_efficiency = r.compute_time_s / r.step_time_s;
  r.speedup = workers * r.scaling_efficiency;
  r.workers = e.cluster->workers();
  if (workload.dataset_samples) {
    const double steps =
        std::ceil(static_cast<double>(*workload.dataset_samples) / (workers * batch));
    r.epoch_time_s = steps * r.step_time_s;
  }
  assess(e, r, extrapolated(e, plan));
  if (plan.input == Duration{}) return;
  // No step ends before its pipeline, whose time is as certain as a measured one of a single
  // worker.
  const Interval input =
      TrackRecord::shipped().assess({.workers = 1, .step_s = to_seconds(plan.input)}).step_s;
  Interval& interval = r.step_time_interval_s;
  interval = {std::max(interval.low, input.low), std::max(interval.high, input.high)};
}

/// Of a step whose all-reduces are messages, and not too many.
std::vector<LinkUse> links_of(const Experiment& e, const StepPlan& plan, double seconds) {
  if (e.run->fidelity != Fidelity::kMessage) return {};
  constexpr double kMost = 2e6;  // messages of two links
  const auto cluster = played_cluster(e);
  const Machine machine(*cluster);
  std::map<std::int64_t, std::vector<LinkUse>> known;
  std::vector<TimedUses> parts;
  double cost = 0;
  for (const Bucket& bucket : plan.buckets) {
    auto found = known.find(bucket.bytes.count);
    if (found == known.end()) {
      cost += play_cost(e.collective->programs(bucket.bytes), machine);
      if (cost > kMost) return {};
      found =
          known.emplace(bucket.bytes.count, link_uses(*e.collective, *cluster, bucket.bytes)).first;
    }
    parts.push_back({found->second, to_seconds(bucket.cost)});
  }
  return sum_of(parts, seconds);
}

SentBucket sent_bucket(std::span<const GradientUnit> units, const Bucket& bucket, Duration ready,
                       Duration start, Duration end) {
  SentBucket sent{{}, bucket.bytes, to_seconds(ready), to_seconds(start), to_seconds(end)};
  for (const GradientUnit& unit : bucket.of(units))
    sent.tensors.push_back(unit.name);
  return sent;
}

std::vector<SentBucket> sent_buckets(const PlannedStep& step,
                                     std::span<const StepRecorder::KeyTimes> times) {
  std::vector<SentBucket> sent;
  for (std::size_t i = 0; i < times.size(); ++i) {
    sent.push_back(sent_bucket(step.units, step.plan.buckets[i], times[i].ready, times[i].start,
                               times[i].end));
  }
  std::stable_sort(sent.begin(), sent.end(),
                   [](const SentBucket& a, const SentBucket& b) { return a.start_s < b.start_s; });
  return sent;
}

std::vector<SentBucket> sent_buckets(const PlannedStep& step) {
  std::vector<StepRecorder::KeyTimes> times;
  for (const BucketTimes& bucket : bucket_times(step.plan))
    times.push_back({bucket.ready, bucket.start, bucket.end});
  return sent_buckets(step, times);
}

Result result_of(const Experiment& e, const StepPlan& plan, const StepTimes& times) {
  const Duration compute = plan.forward + plan.backward;
  Result r;
  r.step_time_s = to_seconds(times.step);
  r.compute_time_s = to_seconds(compute);
  r.forward_time_s = to_seconds(plan.forward);
  r.backward_time_s = to_seconds(plan.backward);
  r.comm_busy_s = to_seconds(times.comm_busy);
  r.exposed_comm_s = to_seconds(times.exposed_comm);
  if (plan.input > Duration{}) r.exposed_input_s = to_seconds(times.exposed_input);
  r.messages = static_cast<std::int64_t>(plan.buckets.size());
  r.fingerprint = times.fingerprint;
  derive(e, plan, r);
  return r;
}

Result closed_result(const Experiment& e, const PlannedStep& step, const StepTimes& times,
                     std::vector<SentBucket>* buckets) {
  Result result = result_of(e, step.plan, times);
  if (buckets == nullptr) return result;
  *buckets = sent_buckets(step);
  result.attribution = attribution(step.plan, *e.collective);
  result.links = links_of(e, step.plan, result.step_time_s);
  return result;
}

/// Of client 0, with the first seed.
std::vector<SentBucket> sent_buckets(const Experiment& e, const TrainingPlan& plan,
                                     const TrainingTimes& times) {
  const auto& units = e.workload->units(e.schedule->granularity());
  std::vector<SentBucket> sent;
  for (const TrainingTimes::Sent& message : times.sent) {
    SentBucket together{
        {}, {}, to_seconds(message.ready), to_seconds(message.start), to_seconds(message.end)};
    for (const std::int32_t b : message.buckets) {
      const Bucket& bucket = plan.step.buckets[static_cast<std::size_t>(b)];
      together.bytes += bucket.bytes;
      for (const GradientUnit& unit : bucket.of(units))
        together.tensors.push_back(unit.name);
    }
    sent.push_back(std::move(together));
  }
  return sent;
}

Result training_result(const Experiment& e, Timeline* timeline, std::vector<SentBucket>* buckets,
                       const OnProgress& on_progress) {
  spdlog::debug(
      "{}: played client by client, as workers, servers, updates, streams or the schedule ask for "
      "it",
      e.name);
  TrainingPlan plan = plan_training(e);
  plan.on_progress = on_progress;
  // With causes a message takes about twice as long.
  constexpr double kMostAttributed = 2e7;
  const bool attributes = buckets != nullptr && work_of(plan) <= kMostAttributed;
  if (buckets != nullptr && !attributes) {
    spdlog::info("{}: no attribution, as the run has more than {:.0e} messages and all-reduces",
                 e.name, kMostAttributed);
  }
  if (timeline != nullptr) {
    // Each message on its client and on its server's thread, or on all clients; gradients, which
    // are no more; each step's two passes, of a single client layer by layer.
    const auto clients = static_cast<double>(plan.trainers());
    const auto layers = static_cast<double>(plan.workload->trace.layers.size());
    check_bars((plan.workers_meet() ? clients : 3) * work_of(plan) +
               2 * (clients == 1 ? layers : clients) * static_cast<double>(plan.played_steps()));
  }
  auto outcome = std::make_shared<TrainingOutcome>(run_training(e, plan, timeline, attributes));
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
    if (run.cold_step_s)
      r.cold_step_time_s = r.cold_step_time_s.value_or(0) + *run.cold_step_s / runs;
    r.fingerprint = mix(r.fingerprint, run.fingerprint);
  }
  r.seeds = static_cast<std::int64_t>(steps.size());
  if (steps.size() > 1) r.step_percentiles = percentiles_of(std::move(steps));
  const double nominal = to_seconds(plan.step.forward + plan.step.backward);
  const double stretch = nominal > 0 ? r.compute_time_s / nominal : 0;
  r.forward_time_s = to_seconds(plan.step.forward) * stretch;
  r.backward_time_s = to_seconds(plan.step.backward) * stretch;
  if (plan.step.input > Duration{}) r.exposed_input_s = input_s;
  r.exposed_comm_s = r.step_time_s - r.compute_time_s - input_s;
  if (input_s > 0) r.exposed_comm_s = std::max(0.0, r.exposed_comm_s);  // rounding
  r.messages = std::llround(messages);
  if (!outcome->has_servers) {  // the clients' all-reduces, which servers do not see
    double all_reduces = 0;
    for (const TrainingTimes& run : outcome->runs) {
      all_reduces += run.all_reduces / runs;
      r.comm_busy_s += run.reduce_busy_s / runs;
    }
    r.messages = std::llround(all_reduces);
  }
  if (buckets != nullptr) {
    *buckets = sent_buckets(e, plan, outcome->runs.front());
    r.attribution = outcome->attribution();
    r.links = outcome->runs.front().links;
    if (plan.inside_parts) {
      r.links = links_of(e, plan.step, r.step_time_s);
      // In steps without an exchange links carry nothing.
      const double share = plan.workers_meet()
                               ? static_cast<double>(plan.update->exchanges_in(plan.steps)) /
                                     static_cast<double>(plan.steps)
                               : 1;
      for (LinkUse& link : r.links) {
        link.bytes = std::llround(static_cast<double>(link.bytes) * share);
        link.busy *= share;
      }
    }
  }
  r.training = std::move(outcome);
  derive(e, plan.step, r);
  return r;
}

/// At both fidelities.
Result engine_result(const Experiment& e, const PlannedStep& step, Timeline* timeline,
                     std::vector<SentBucket>* buckets, const OnProgress& on_progress) {
  spdlog::debug("{}: played in an engine, {} {} a step", e.name, step.plan.buckets.size(),
                plays_merge(e) ? "keys" : "all-reduces");
  auto runs = run_in_engine(e, step.plan, step.units, timeline, on_progress);
  const auto training = learn(e, runs);
  const auto embedded = std::make_shared<EmbeddedStep>(mean_of(runs));
  Result result = result_of(e, step.plan, embedded->times);
  result.cold_step_time_s = to_seconds(embedded->cold);
  if (plays_merge(e)) {
    result.messages = std::llround(static_cast<double>(result.messages) /
                                   static_cast<double>(e.update->period()));
  }
  result.seeds = static_cast<std::int64_t>(runs.size());
  if (runs.size() > 1) {
    std::vector<double> steps;
    for (const EmbeddedStep& run : runs)
      steps.push_back(to_seconds(run.times.step));
    result.step_percentiles = percentiles_of(std::move(steps));
  }
  if (buckets != nullptr) {
    *buckets = sent_buckets(step, embedded->buckets);
    result.attribution = embedded->attribution.causes;
    result.links = plays_merge(e) ? embedded->links : links_of(e, step.plan, result.step_time_s);
  }
  result.embedded = embedded;
  result.training = training;
  return result;
}

/// Whether the gradients take too long by themselves.
bool aggregation_is_out_of_range(const Experiment& e) {
  Bytes all;
  for (const GradientUnit& unit : e.workload->units(e.schedule->granularity()))
    all += unit.bytes;
  const Aggregation& aggregation = *e.aggregation;
  try {
    (aggregation.whole ? aggregation.whole : aggregation.inside)->time(all);
  } catch (const RangeError&) {
    return true;
  } catch (const InputError&) {
  }
  return false;
}

/// What is out of range comes from several numbers, so only the section can be named, and not
/// always that.
template <class Run>
auto naming_the_place(const Experiment& experiment, Run run) {
  try {
    return run();
  } catch (const PlacedError& e) {
    throw InputError(fmt::format("{}: {}", experiment.file, e.what()));
  } catch (const RangeError& e) {
    throw InputError(fmt::format(
        "{}: {}: {}", experiment.file,
        aggregation_is_out_of_range(experiment) ? "/strategy/aggregation" : "/", e.what()));
  }
}

/// Plans as if its collective were another one.
class PlannedFor final : public Schedule {
 public:
  PlannedFor(std::shared_ptr<const Schedule> schedule, std::shared_ptr<const Collective> collective)
      : Schedule(schedule->granularity()),
        schedule_(std::move(schedule)),
        collective_(std::move(collective)) {}
  BucketPlan plan(std::span<const GradientUnit> units, const Collective&) const override {
    return schedule_->plan(units, *collective_);
  }
  std::unique_ptr<Policy> policy(std::span<const Bucket> buckets) const override {
    return schedule_->policy(buckets);
  }
  bool layers_wait_for_their_own() const override { return schedule_->layers_wait_for_their_own(); }
  bool plans_for_the_recurrence() const override { return schedule_->plans_for_the_recurrence(); }
  std::int64_t default_steps() const override { return schedule_->default_steps(); }

 private:
  std::shared_ptr<const Schedule> schedule_;
  std::shared_ptr<const Collective> collective_;
};

/// With its domain. `timeline` may be null.
Result assessed_layout(const Experiment& e, Timeline* timeline) {
  Result result = layout_result(e, timeline);
  std::vector<std::string> beyond{"no measured step of a layout is in the record"};
  if (const std::string& domain = e.layout->work.domain; domain != "inside")
    beyond.push_back(domain);
  if (e.cluster->nodes > 1 && e.cluster->kind) {
    if (auto outside = e.cluster->kind->outside_domain(); !outside.empty())
      beyond.push_back(std::move(outside));
  }
  assess(e, result, std::move(beyond));
  return result;
}

Result run(const Experiment& experiment, std::vector<SentBucket>* buckets,
           const OnProgress& on_progress) {
  if (experiment.layout) return assessed_layout(experiment, nullptr);
  if (needs_training(experiment)) return training_result(experiment, nullptr, buckets, on_progress);
  const PlannedStep step = plan_of(experiment, buckets != nullptr, on_progress);
  if (plays_in_engine(experiment))
    return engine_result(experiment, step, nullptr, buckets, on_progress);
  spdlog::debug("{}: {} workers move in step, closed form, {} all-reduces a step", experiment.name,
                experiment.cluster->workers(), step.plan.buckets.size());
  return closed_result(experiment, step, closed_step(step.plan), buckets);
}

/// The same buckets, with a collective that takes as long as that end of its interval says.
double step_time_at(const Experiment& experiment, IntervalEnd end, const OnProgress& on_progress) {
  Experiment other = experiment;
  auto aggregation = std::make_shared<Aggregation>(*experiment.aggregation);
  other.collective = experiment.collective->at(end);
  aggregation->inside = other.collective;
  other.aggregation = std::move(aggregation);
  other.schedule = std::make_shared<PlannedFor>(experiment.schedule, experiment.collective);
  return run(other, nullptr, on_progress).step_time_s;
}

void add_interval(const Experiment& experiment, Result& result, const OnProgress& on_progress) {
  if (experiment.layout || !experiment.collective || !experiment.collective->at(IntervalEnd::kLow))
    return;
  const Interval measured{step_time_at(experiment, IntervalEnd::kLow, on_progress),
                          step_time_at(experiment, IntervalEnd::kHigh, on_progress)};
  Interval& interval = result.step_time_interval_s;
  interval = {std::min(interval.low, measured.low), std::max(interval.high, measured.high)};
  result.profile_interval_s = measured;
}

}  // namespace

void check_training_run(const Experiment& experiment) {
  if (experiment.layout || !needs_training(experiment)) return;
  naming_the_place(experiment, [&] { check_programs(plan_training(experiment)); });
}

Result simulate(const Experiment& experiment, std::vector<SentBucket>* buckets,
                const OnProgress& on_progress) {
  return naming_the_place(experiment, [&] {
    Result result = run(experiment, buckets, on_progress);
    add_interval(experiment, result, on_progress);
    return result;
  });
}

Result simulate(const Experiment& experiment, Timeline& timeline, std::vector<SentBucket>* buckets,
                const OnProgress& on_progress) {
  const auto drawn = [&] {
    if (experiment.layout) return assessed_layout(experiment, &timeline);
    if (needs_training(experiment))
      return training_result(experiment, &timeline, buckets, on_progress);
    const PlannedStep step = plan_of(experiment, buckets != nullptr, on_progress);
    if (plays_in_engine(experiment))
      return engine_result(experiment, step, &timeline, buckets, on_progress);
    const TrainingPlan plan = plan_training(experiment);
    check_bars(static_cast<double>(plan.steps) *
               static_cast<double>(plan.step.buckets.size() +
                                   2 * experiment.workload->workload.trace.layers.size()));
    play_programs(plan, experiment.run->seed, nullptr, nullptr, 0, &timeline);
    return closed_result(experiment, step, closed_step(step.plan), buckets);
  };
  return naming_the_place(experiment, [&] {
    Result result = drawn();
    add_interval(experiment, result, on_progress);
    return result;
  });
}

}  // namespace steptime
