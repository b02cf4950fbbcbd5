#include "sim/experiment/runs/rank_run.h"

#include "sim/experiment/runs/one_step.h"
#include "sim/experiment/runs/training_result.h"
#include "sim/experiment/training_run.h"
#include "sim/training/learner.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include <spdlog/spdlog.h>

namespace steptime {

void RankRun::check_strategy(const Config& strategy, const Experiment& e) const {
  if (e.schedule->policy({}) && e.embedding->waits_in_calls()) {
    strategy.fail("schedule",
                  "decides which of several gradients goes next, but this embedding's main thread "
                  "is inside one all-reduce at a time; expected another schedule, or embedding");
  }
  if (e.transport->streams > 1) {
    strategy.fail("transport",
                  "has several streams, but in an engine the embedding says how many collectives "
                  "are outstanding; expected 1");
  }
  if (e.aggregation->servers.count > 0) check_servers(strategy, e);
}

/// Of what keys go through.
void RankRun::check_servers(const Config& strategy, const Experiment& e) const {
  if (!e.aggregation->servers.requests->brings_values) {
    strategy.fail("aggregation",
                  "its workers pull at the start of a step, but an embedding's pull of a key is "
                  "behind its push; expected another \"requests\", or an embedding {\"type\": "
                  "\"async\"}");
  }
  if (e.transport->policy(*e.schedule, {}, *e.cluster)) {
    strategy.fail(e.schedule->policy({}) ? "schedule" : "transport",
                  "decides while the step runs what all ranks reduce next, but servers take keys "
                  "as each client sends them; expected an embedding {\"type\": \"async\"}, or none "
                  "that decides");
  }
}

PlannedStep RankRun::plan(const Experiment& e, const Wanted& wanted) const {
  const bool is_served = e.aggregation->servers.count > 0;
  PlannedStep step = is_served ? closed_plan(e) : plan_step_of(e, wanted);
  if (is_served) step.plan = plan_training(e).step;  // whose buckets may be shards
  spdlog::debug("{}: played in an engine, {} all-reduces a step", e.name, step.plan.buckets.size());
  return step;
}

namespace {

/// plays(embedding, plan, workload, units, startup, run) with one of the seeds. `served`: null:
/// ranks reduce among themselves.
template <class Seed, class Plays>
auto played(const Experiment& e, const PlannedStep& step, const TrainingPlan* served,
            const Seed& seed, Plays plays) {
  const Collective& inside = *e.aggregation->inside;
  std::optional<EmbeddedRun::Played> messages;
  if (e.run->fidelity == Fidelity::kMessage) messages = {step.machines.cluster.get(), &inside};
  const std::span<const Bucket> buckets = step.plan.buckets;
  const Cluster& cluster = *step.machines.cluster;
  Communicators::Decided decided{{}, buckets, &inside};
  if (e.transport->policy(*e.schedule, buckets, cluster))
    decided.policy = [&] { return e.transport->policy(*e.schedule, buckets, cluster); };
  const std::int64_t steps = decided.policy ? default_steps(*e.update, *e.schedule, *e.transport)
                                            : e.update->default_steps();
  const Convergence* const learns = e.run->convergence.get();
  const std::int64_t learning = learns == nullptr ? 0 : learns->steps(e.cluster->workers());
  const RankGpus::Costs overlap{
      .beside = served != nullptr ? served->beside : slowdown_of(e, buckets),
      .beside_spread = served != nullptr ? served->beside_spread : nullptr,
      .links = kernels_slow_links(e) ? e.cluster->intra_node_beside_kernels : 1};
  return plays(*e.embedding, step.plan, e.workload->workload, step.units, inside.startup(),
               EmbeddedRun{.workers = e.cluster->workers(),
                           .update = e.update.get(),
                           .latency = e.cluster->bottleneck().latency,
                           .steps = std::max(e.run->steps.value_or(steps), learning),
                           .learning = learning,
                           .seed = seed.seed,
                           .seeds = seeds_of(e),
                           .variation = step.machines.variation,
                           .played = messages,
                           .decided = decided,
                           .served = served,
                           .overlap = overlap,
                           .attributes = seed.attributes,
                           .links = e.cluster->nodes > 1 ? Pairs::kBetweenNodes : Pairs::kInNode,
                           .timeline = seed.timeline,
                           .on_progress = seed.on_progress});
}

}  // namespace

EmbeddedStep RankRun::play(const Experiment& e, const PlannedStep& step, const Seed& seed) const {
  std::optional<TrainingPlan> served;
  if (e.aggregation->servers.count > 0) served = plan_training(e);
  return played(e, step, served ? &*served : nullptr, seed, embedded_step);
}

Result ClientRun::run(const Experiment& e, const Wanted& wanted) const {
  const PlannedStep step = plan(e, wanted);
  TrainingPlan served = plan_training(e);
  served.on_progress = wanted.on_progress;
  const auto play = [&](const TrainingPlan& of, std::int64_t seed, Learner* learner,
                        Timeline* timeline, Causes* causes) {
    return played(e, step, &of, Seed{seed, timeline, causes != nullptr, of.on_progress},
                  [&](const auto&... all) { return embedded_clients(all..., learner, causes); });
  };
  TrainingOutcome outcome =
      run_training(e, served, wanted.timeline, wanted.buckets != nullptr, play);
  return result_of_training(e, served, std::move(outcome), wanted);
}

std::vector<LinkUse> RankRun::links(const Experiment& e, const PlannedStep& step,
                                    const EmbeddedStep& played) const {
  if (e.aggregation->servers.count > 0) return played.links;
  const auto steps = static_cast<double>(e.update->period());
  return links_of(e, step.plan, *step.machines.cluster,
                  {steps * to_seconds(played.times.step), steps});
}

}  // namespace steptime
