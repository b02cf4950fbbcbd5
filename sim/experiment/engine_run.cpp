#include "sim/experiment/engine_run.h"

#include "sim/core/fingerprint.h"
#include "sim/experiment/played_cluster.h"
#include "sim/mxnet/module_step.h"
#include "sim/training/learner.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>

namespace steptime {
namespace {

/// The run of one of the seeds.
struct Seed {
  std::int64_t seed = 1;
  Timeline* timeline = nullptr;
  OnProgress on_progress{};
};

EmbeddedStep play_embedding(const Experiment& e, const StepPlan& plan,
                            std::span<const GradientUnit> units, const Seed& seed) {
  std::optional<EmbeddedRun::Played> played;
  const auto cluster = played_cluster(e);
  if (e.run->fidelity == Fidelity::kMessage) played = {cluster.get(), e.collective.get()};
  return embedded_step(*e.embedding, plan, e.workload->workload, units, e.collective->startup(),
                       {.workers = e.cluster->workers(),
                        .latency = e.cluster->bottleneck().latency,
                        .steps = e.run->steps.value_or(1),
                        .seed = seed.seed,
                        .seeds = seeds_of(e),
                        .variation = e.run->variation,
                        .played = played,
                        .timeline = seed.timeline,
                        .on_progress = seed.on_progress});
}

/// In the engine of the one process that drives all GPUs.
EmbeddedStep play_merge(const Experiment& e, const StepPlan& plan,
                        std::span<const GradientUnit> units, const Seed& seed) {
  const auto& settings = e.embedding->settings();
  const Convergence* const learns = e.run->convergence.get();
  const std::int64_t learning = learns == nullptr ? 0 : learns->steps(e.cluster->workers());
  return module_step(plan, e.workload->workload, units,
                     {.cluster = *e.cluster,
                      .aggregation = *e.aggregation,
                      .update = *e.update,
                      .settings = settings ? &*settings : nullptr,
                      .steps = std::max(e.run->steps.value_or(e.update->default_steps()), learning),
                      .seed = seed.seed,
                      .seeds = seeds_of(e),
                      .variation = e.run->variation,
                      .learning = learning,
                      .timeline = seed.timeline,
                      .on_progress = seed.on_progress});
}

/// The share of all runs, of which so many are over.
OnProgress share_of(const OnProgress& whole, std::int64_t over, std::int64_t runs) {
  if (!whole || runs == 1) return whole;
  return [whole, over, runs](double share) {
    whole((static_cast<double>(over) + std::min(share, 1.0)) / static_cast<double>(runs));
  };
}

/// Of trainers with parameters of their own, or of one.
void learn_step(const Update& update, std::int64_t step, std::int64_t trainers, Learner& learner) {
  for (std::int64_t trainer = 0; trainer < trainers; ++trainer) {
    learner.compute(trainer, step);
    learner.descend(trainer);
  }
  if (!update.sends_parameters() || !update.exchanges(step)) return;
  learner.meet();
  for (std::int64_t trainer = 0; trainer < trainers; ++trainer)
    learner.take(trainer);
}

std::vector<CurvePoint> curve_of(const Experiment& e, std::int64_t trainers, Learner& learner,
                                 std::span<const Duration> ends) {
  const Convergence& learns = *e.run->convergence;
  const std::int64_t workers = e.cluster->workers();
  std::vector<CurvePoint> curve;
  const auto test = [&](std::int64_t steps, Duration time) {
    const auto taken = static_cast<double>(steps * workers * learns.batch);
    curve.push_back(
        {to_seconds(time), taken / static_cast<double>(learns.problem->samples()), learner.test()});
  };
  test(0, {});
  const auto last = static_cast<std::int64_t>(ends.size());
  for (std::int64_t step = 1; step <= last; ++step) {
    learn_step(*e.update, step - 1, trainers, learner);
    if (step % learns.evaluate == 0 || step == last)
      test(step, ends[static_cast<std::size_t>(step - 1)]);
  }
  return curve;
}

}  // namespace

bool plays_in_engine(const Experiment& e) {
  return plays_merge(e) || (e.embedding->settings() && !needs_training(e));
}

std::vector<EmbeddedStep> run_in_engine(const Experiment& e, const StepPlan& plan,
                                        std::span<const GradientUnit> units, Timeline* timeline,
                                        const OnProgress& on_progress) {
  const auto play = plays_merge(e) ? play_merge : play_embedding;
  const std::int64_t seeds = seeds_of(e);
  if (e.run->convergence) e.run->convergence->share(e.cluster->workers());
  std::vector<EmbeddedStep> runs;
  for (std::int64_t run = 0; run < seeds; ++run) {
    runs.push_back(play(
        e, plan, units,
        {e.run->seed + run, run == 0 ? timeline : nullptr, share_of(on_progress, run, seeds)}));
  }
  return runs;
}

std::shared_ptr<const TrainingOutcome> learn(const Experiment& e, std::span<EmbeddedStep> runs) {
  const Convergence* const learns = e.run->convergence.get();
  if (learns == nullptr) return nullptr;
  const std::int64_t workers = e.cluster->workers();
  const std::int64_t trainers = e.update->sends_parameters() ? workers : 1;
  TrainingOutcome outcome{.learns = true, .target = learns->target};
  for (EmbeddedStep& run : runs) {
    const std::int64_t seed = e.run->seed + static_cast<std::int64_t>(outcome.runs.size());
    Learner learner(*learns, *e.update, trainers, workers / trainers, false, seed);
    TrainingTimes times{.step_s = to_seconds(run.times.step),
                        .cold_step_s = to_seconds(run.cold),
                        .end_s = to_seconds(run.ends.back()),
                        .curve = curve_of(e, trainers, learner, run.ends)};
    for (const double value : learner.client(0))
      run.times.fingerprint = mix(run.times.fingerprint, std::bit_cast<std::uint64_t>(value));
    times.fingerprint = run.times.fingerprint;
    outcome.seeds.push_back(seed);
    outcome.reached.push_back(first_at(times.curve, learns->target));
    outcome.runs.push_back(std::move(times));
  }
  return std::make_shared<const TrainingOutcome>(std::move(outcome));
}

}  // namespace steptime
