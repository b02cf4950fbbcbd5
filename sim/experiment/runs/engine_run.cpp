#include "sim/experiment/runs/engine_run.h"

#include "sim/core/fingerprint.h"
#include "sim/experiment/keys.h"
#include "sim/experiment/played_cluster.h"
#include "sim/experiment/training_run.h"
#include "sim/mxnet/mean_step.h"
#include "sim/training/learner.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

namespace steptime {
namespace {

/// What is learnt in these, where the experiment says what: the accuracy over steps of clients that
/// wait for each other, with the same seeds, each step at its end. Their fingerprints get what was
/// learnt.
std::shared_ptr<const TrainingOutcome> learn(const Experiment& e, std::span<EmbeddedStep> runs) {
  const Convergence* const learns = e.run->convergence.get();
  if (learns == nullptr) return nullptr;
  const std::int64_t workers = e.cluster->workers();
  const bool has_servers = e.aggregation->servers.count > 0;
  const std::int64_t trainers = has_servers ? e.aggregation->clients : e.update->trainers(workers);
  TrainingOutcome outcome{.learns = true, .target = learns->target};
  for (EmbeddedStep& run : runs) {
    const std::int64_t seed = e.run->seed + static_cast<std::int64_t>(outcome.runs.size());
    Learner learner(*learns, *e.update, trainers, workers / trainers, has_servers, seed);
    TrainingTimes times{.step_s = to_seconds(run.times.step),
                        .cold_step_s = to_seconds(run.cold),
                        .end_s = to_seconds(run.ends.back()),
                        .curve = {learner.point({}, 0)}};
    const auto last = static_cast<std::int64_t>(run.ends.size());
    for (std::int64_t step = 1; step <= last; ++step) {
      learner.step_together(step - 1);
      if (step % learns->evaluate != 0 && step != last) continue;
      const Duration end = run.ends[static_cast<std::size_t>(step - 1)];
      times.curve.push_back(learner.point(end, step * trainers));
    }
    for (const double value : learner.client(0))
      run.times.fingerprint = mix(run.times.fingerprint, std::bit_cast<std::uint64_t>(value));
    times.fingerprint = run.times.fingerprint;
    outcome.seeds.push_back(seed);
    outcome.runs.push_back(std::move(times));
  }
  return std::make_shared<const TrainingOutcome>(std::move(outcome));
}

}  // namespace

void EngineRun::check(const Experiment& e, const DocumentOf& document) const {
  check_machines(e);
  const Config config(document(), experiment_params());
  const Config strategy = config.object("strategy", strategy_params());
  e.embedding->check(strategy, *e.aggregation, *e.update);
  check_strategy(strategy, e);
}

/// At both fidelities.
Result EngineRun::run(const Experiment& e, const Wanted& wanted) const {
  const PlannedStep step = plan(e, wanted);
  const std::int64_t seeds = seeds_of(e);
  if (e.run->convergence) e.run->convergence->share(e.cluster->workers());
  std::vector<EmbeddedStep> runs;
  for (std::int64_t run = 0; run < seeds; ++run) {
    runs.push_back(play(e, step,
                        {e.run->seed + run, run == 0 ? wanted.timeline : nullptr,
                         wanted.buckets != nullptr, share_of(wanted.on_progress, run, seeds)}));
  }
  const auto training = learn(e, runs);
  const auto embedded = std::make_shared<EmbeddedStep>(mean_of(runs));
  if (wanted.buckets != nullptr) *wanted.buckets = sent_buckets(step, embedded->buckets);
  Result result = result_of(e, step.plan, embedded->times, false);
  result.cold_step_time_s = to_seconds(embedded->cold);
  const bool has_others = e.cluster->workers() > 1 || e.aggregation->servers.count > 0;
  if (!has_others) result.messages = 0;  // keys are updated only
  result.messages = std::llround(embedded->messages.value_or(
      static_cast<double>(result.messages) / static_cast<double>(e.update->period())));
  result.seeds = seeds;
  if (runs.size() > 1) {
    std::vector<double> steps;
    steps.reserve(runs.size());
    for (const EmbeddedStep& run : runs)
      steps.push_back(to_seconds(run.times.step));
    result.step_percentiles = percentiles_of(std::move(steps));
  }
  if (wanted.buckets != nullptr) {
    result.attribution = embedded->attribution.causes;
    result.links = links(e, step, *embedded);
  }
  result.embedded = embedded;
  result.training = training;
  return result;
}

}  // namespace steptime
