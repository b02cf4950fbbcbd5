#include "sim/experiment/training_run.h"

#include "sim/collective/message_time.h"
#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "sim/core/limits.h"
#include "sim/events/mean_causes.h"
#include "sim/training/play.h"
#include "sim/training/reported_steps.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <boost/math/statistics/univariate_statistics.hpp>
#include <fmt/format.h>

namespace steptime {
namespace {

/// What the first tests tell that reached the target, of every seed that has such a one.
template <class Get>
std::vector<double> of_reached(const TrainingOutcome& outcome, Get get) {
  std::vector<double> values;
  for (const TrainingTimes& run : outcome.runs) {
    const auto hit = std::ranges::find_if(
        run.curve, [&](const CurvePoint& point) { return point.score.accuracy >= outcome.target; });
    if (hit != run.curve.end()) values.push_back(get(*hit));
  }
  return values;
}

template <class Get>
std::optional<double> median_of(const TrainingOutcome& outcome, Get get) {
  std::vector<double> values = of_reached(outcome, get);
  if (2 * values.size() <= outcome.seeds.size()) return std::nullopt;
  return boost::math::statistics::median(values);
}

}  // namespace

std::int64_t seeds_of(const Experiment& e) {
  return e.run->convergence ? e.run->convergence->seeds : e.run->variation.seeds;
}

OnProgress share_of(const OnProgress& on_progress, std::int64_t over, std::int64_t runs) {
  if (!on_progress || runs == 1) return on_progress;
  return [on_progress, over, runs](double share) {
    on_progress((static_cast<double>(over) + std::min(share, 1.0)) / static_cast<double>(runs));
  };
}

std::int64_t default_steps(const Update& update, const Schedule& schedule,
                           const Transport& transport) {
  return std::max(
      {update.default_steps(), schedule.default_steps(), transport.coordinator->default_steps()});
}

namespace {

/// Asks once for each size: steps send the same ones again, and what NCCL does with one is a
/// search.
template <class Of>
auto once_by_size(Of of) {
  using Answer = decltype(of(Bytes{}));
  auto known = std::make_shared<std::map<std::int64_t, Answer>>();
  return [of, known](Bytes m) {
    const auto found = known->find(m.count);
    return found != known->end() ? found->second : known->emplace(m.count, of(m)).first->second;
  };
}

/// Of all-reduces that go one after another and meet nothing else on the links: closed forms, or
/// each size played by itself.
void set_inside_time(const std::shared_ptr<const Collective>& inside, bool plays_alone,
                     TrainingPlan& plan) {
  if (!plays_alone) {
    plan.inside_time = once_by_size([inside](Bytes m) { return inside->time(m); });
    return;
  }
  const auto cluster = std::make_shared<Cluster>(plan.cluster);
  const auto times = std::make_shared<MessageTimes>(*cluster, *inside, true);
  plan.inside_time = [times, cluster, inside](Bytes m) { return times->time(m); };
  plan.inside_parts = [times, cluster, inside](Bytes m) { return times->parts(m); };
}

}  // namespace

PlannedStep closed_plan(const Experiment& e) {
  const Aggregation& aggregation = *e.aggregation;
  const auto& units = e.workload->units(e.schedule->granularity());
  // The process of a node updates a single GPU's keys, too.
  const bool has_keys = e.cluster->workers() > 1 || aggregation.servers.count > 0 ||
                        e.embedding->merge(aggregation) != nullptr;
  BucketPlan buckets;
  if (has_keys)
    buckets = e.schedule->plan(units, aggregation.whole ? *aggregation.whole : *aggregation.inside);
  StepPlan step =
      plan_step(e.workload->workload, e.workload->passes, units, buckets, *aggregation.inside,
                has_keys ? 2 : 1, aggregation.beside_kernels.get());
  step.input = input_time(e.workload->workload, e.cluster->gpus_per_node);
  return {units, std::move(step), played_machines(e)};
}

bool kernels_slow_links(const Experiment& e) {
  const Overlap* const overlap = e.workload->workload.overlap.get();
  return e.run->fidelity == Fidelity::kMessage && overlap != nullptr && overlap->slows_links() &&
         e.cluster->intra_node_beside_kernels > 1 && e.cluster->gpus_per_node > 1 &&
         e.cluster->workers() > e.aggregation->clients &&
         (e.embedding->has_main_thread() || e.aggregation->servers.count > 0 ||
          !e.update->sends_parameters());
}

namespace {

/// What slows such collectives of several workers and their passes down, beside the links; null:
/// nothing. `slower`: on links as they are while kernels run; null: the same.
std::function<Slowdown(Bytes)> slowdown_of(const Experiment& e, std::span<const Bucket> buckets,
                                           const std::shared_ptr<const Collective>& alone,
                                           std::shared_ptr<const Collective> slower) {
  const std::shared_ptr<const Overlap>& overlap = e.workload->workload.overlap;
  if (overlap == nullptr || alone == nullptr || e.cluster->workers() == e.aggregation->clients)
    return {};
  if (slower == nullptr || kernels_slow_links(e)) slower = alone;
  auto of = once_by_size([workload = e.workload, overlap, alone, slower](Bytes m) {
    return overlap->beside({.alone = *alone, .beside_kernels = *slower}, m,
                           workload->workload.trace.multiprocessors);
  });
  if (std::ranges::none_of(buckets, [&](const Bucket& b) { return of(b.bytes).any(); })) return {};
  return of;
}

}  // namespace

std::function<Slowdown(Bytes)> slowdown_of(const Experiment& e, std::span<const Bucket> buckets) {
  return slowdown_of(e, buckets, e.aggregation->inside, e.aggregation->beside_kernels);
}

TrainingPlan plan_training(const Experiment& e) {
  const Aggregation& aggregation = *e.aggregation;
  const std::int64_t workers = e.cluster->workers();
  PlannedStep step = closed_plan(e);
  const std::span<const GradientUnit> units = step.units;
  TrainingPlan plan{.cluster = *step.machines.cluster,
                    .aggregation = aggregation,
                    .update = e.update,
                    .variation = std::move(step.machines.variation),
                    .step = std::move(step.plan)};
  plan.workload = {e.workload, &e.workload->workload};
  plan.units = units;
  plan.kernels_slow_links = kernels_slow_links(e);
  plan.beside = slowdown_of(e, plan.step.buckets);
  plan.beside_spread =
      slowdown_of(e, plan.step.buckets, aggregation.spread, aggregation.spread_beside_kernels);
  const bool plays = e.run->fidelity == Fidelity::kMessage;
  const bool meets_nothing = aggregation.clients == 1 && aggregation.servers.count == 0 &&
                             e.transport->streams == 1 && !plan.step.buckets.empty() &&
                             !plan.kernels_slow_links;
  if (plays && !takes(FastPath::kCollectivesAlone, meets_nothing)) plan.roads = message_roads;
  set_inside_time(aggregation.inside, plays && meets_nothing, plan);
  if (plays && meets_nothing) {
    for (Bucket& bucket : plan.step.buckets)
      bucket.cost = plan.inside_time(bucket.bytes);
  }
  const Convergence* learns = e.run->convergence.get();
  if (learns != nullptr) learns->share(workers);
  plan.steps = learns != nullptr
                   ? learns->steps(workers)
                   : e.run->steps.value_or(default_steps(*e.update, *e.schedule, *e.transport));
  plan.transport = e.transport;
  if (e.transport->policy(*e.schedule, {}, *e.cluster)) plan.schedule = e.schedule;
  const std::size_t parameters = learns != nullptr ? learns->problem->parameters() : 0;
  plan.pieces = cut_pieces(e.workload->workload, units, plan.step.buckets, aggregation.servers,
                           *aggregation.inside, e.schedule->granularity(), parameters);
  if (aggregation.beyond) {
    plan.pieces_beyond =
        cut_pieces_beyond(e.workload->workload, units, plan.step.buckets, aggregation.servers,
                          aggregation.beyond->servers, e.schedule->granularity(), parameters);
  }
  plan.issued = issue_times(aggregation.issuing, e.workload->workload, units, plan.step.buckets,
                            e.schedule->granularity());
  plan.names = bucket_names(plan.step.buckets, units);
  plan.needed = forward_starts(e.workload->workload.trace, units, plan.step.buckets);
  plan.reported = learns != nullptr ? TrainingPlan::Reported::kAll : reported_steps(plan);
  // What comes behind has as long again.
  const Duration one = std::max(plan.step.forward + plan.step.backward, plan.step.input);
  const double least = to_seconds(one) * static_cast<double>(least_steps(plan));
  if (least > kLongestSeconds) {
    throw RangeError(fmt::format("the run takes {} s or more, of the {} s that can be simulated",
                                 least, kLongestSeconds));
  }
  check_training_work(plan, seeds_of(e));
  // Behind what times collectives, as these have a connection's rate.
  plan.cluster.network.bandwidth = network_port(*e.cluster, aggregation);
  return plan;
}

namespace {

/// Of the bytes on all servers, what the fullest has over an even share.
double fullest_server(const std::vector<std::vector<Piece>>& pieces, std::int64_t servers) {
  std::vector<double> held(static_cast<std::size_t>(servers));
  double sum = 0;
  for (const auto& of_bucket : pieces) {
    for (const Piece& piece : of_bucket) {
      held[static_cast<std::size_t>(piece.server)] += static_cast<double>(piece.bytes.count);
      sum += static_cast<double>(piece.bytes.count);
    }
  }
  if (sum == 0) return 1;
  return *std::max_element(held.begin(), held.end()) / sum * static_cast<double>(servers);
}

}  // namespace

TrainingOutcome run_training(const Experiment& e, TrainingPlan plan, Timeline* timeline,
                             bool attributes, const PlaysTraining& plays) {
  const Convergence* learns = e.run->convergence.get();
  TrainingOutcome outcome{.learns = learns != nullptr,
                          .target = learns != nullptr ? learns->target : 0};
  const auto& beyond = plan.aggregation.beyond;
  outcome.servers = plan.aggregation.last_servers().count;
  if (outcome.has_servers())
    outcome.fullest_server =
        fullest_server(beyond ? plan.pieces_beyond : plan.pieces, outcome.servers);
  const std::int64_t seeds = seeds_of(e);
  const OnProgress on_progress = plan.on_progress;
  for (std::int64_t seed = e.run->seed; seed < e.run->seed + seeds; ++seed) {
    plan.on_progress = share_of(on_progress, seed - e.run->seed, seeds);
    outcome.seeds.push_back(seed);
    Causes kept;
    Causes* const causes = attributes ? &kept : nullptr;
    std::optional<Learner> learner;
    if (learns != nullptr) {
      const std::int64_t trainers = plan.trainers();
      learner.emplace(*learns, *plan.update, trainers, plan.cluster.workers() / trainers,
                      outcome.has_servers(), seed, plan.pushing());
    }
    outcome.runs.push_back(
        (plays ? plays : play_programs)(plan, seed, learner ? &*learner : nullptr,
                                        seed == e.run->seed ? timeline : nullptr, causes));
  }
  return outcome;
}

std::optional<double> TrainingOutcome::time_to_target() const {
  return median_of(*this, [](const CurvePoint& p) { return p.time_s; });
}

std::optional<double> TrainingOutcome::epochs_to_target() const {
  return median_of(*this, [](const CurvePoint& p) { return p.epoch; });
}

std::optional<double> TrainingOutcome::fastest_to_target() const {
  const auto times = of_reached(*this, [](const CurvePoint& p) { return p.time_s; });
  if (times.empty()) return std::nullopt;
  return *std::min_element(times.begin(), times.end());
}

std::optional<double> TrainingOutcome::slowest_to_target() const {
  const auto times = of_reached(*this, [](const CurvePoint& p) { return p.time_s; });
  if (!learns || times.size() < seeds.size()) return std::nullopt;
  return *std::max_element(times.begin(), times.end());
}

std::optional<double> TrainingOutcome::final_accuracy() const {
  if (!learns) return std::nullopt;
  double sum = 0;
  for (const TrainingTimes& run : runs)
    sum += run.curve.back().score.accuracy;
  return sum / static_cast<double>(runs.size());
}

double TrainingOutcome::mean_staleness() const {
  double sum = 0;
  for (const TrainingTimes& run : runs)
    sum += run.mean_staleness();
  return sum / static_cast<double>(runs.size());
}

std::int64_t TrainingOutcome::unsettled_steps() const {
  std::int64_t most = 0;
  for (const TrainingTimes& run : runs)
    most = std::max(most, run.unsettled_steps);
  return most;
}

std::vector<Cause> TrainingOutcome::attribution() const {
  std::vector<std::span<const Cause>> causes;
  for (const TrainingTimes& run : runs)
    causes.emplace_back(run.attribution);
  return mean_causes(causes);
}

Json TrainingOutcome::json() const {
  Json list = Json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Json run{{"seed", seeds[i]}, {"staleness", runs[i].staleness}, {"curve", Json::array()}};
    for (const CurvePoint& p : runs[i].curve) {
      run["curve"].push_back(Json{{"time_s", p.time_s},
                                  {"epoch", p.epoch},
                                  {"accuracy", p.score.accuracy},
                                  {"loss", p.score.loss}});
    }
    list.push_back(run);
  }
  return list;
}

}  // namespace steptime
