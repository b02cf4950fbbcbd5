#include "sim/experiment/engine_run.h"

#include "sim/experiment/played_cluster.h"
#include "sim/experiment/training_run.h"
#include "sim/mxnet/module_step.h"

#include <algorithm>
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
                        .seeds = e.run->variation.seeds,
                        .variation = e.run->variation,
                        .played = played,
                        .timeline = seed.timeline,
                        .on_progress = seed.on_progress});
}

/// In the engine of the one process that drives all GPUs.
EmbeddedStep play_merge(const Experiment& e, const StepPlan& plan,
                        std::span<const GradientUnit> units, const Seed& seed) {
  const auto& settings = e.embedding->settings();
  return module_step(plan, e.workload->workload, units,
                     {.cluster = *e.cluster,
                      .aggregation = *e.aggregation,
                      .settings = settings ? &*settings : nullptr,
                      .steps = e.run->steps.value_or(1),
                      .seed = seed.seed,
                      .seeds = e.run->variation.seeds,
                      .variation = e.run->variation,
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

}  // namespace

bool plays_in_engine(const Experiment& e) {
  return plays_merge(e) || (e.embedding->settings() && !needs_training(e));
}

std::vector<EmbeddedStep> run_in_engine(const Experiment& e, const StepPlan& plan,
                                        std::span<const GradientUnit> units, Timeline* timeline,
                                        const OnProgress& on_progress) {
  const auto play = plays_merge(e) ? play_merge : play_embedding;
  const std::int64_t seeds = e.run->variation.seeds;
  std::vector<EmbeddedStep> runs;
  for (std::int64_t run = 0; run < seeds; ++run) {
    runs.push_back(play(
        e, plan, units,
        {e.run->seed + run, run == 0 ? timeline : nullptr, share_of(on_progress, run, seeds)}));
  }
  return runs;
}

}  // namespace steptime
