#include "sim/experiment/runs/rank_run.h"

#include "sim/experiment/runs/one_step.h"
#include "sim/experiment/training_run.h"
#include "sim/training/learner.h"

#include <algorithm>
#include <optional>
#include <span>

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
  if (!e.update->ends_together()) {
    strategy.fail("update",
                  "leaves clients apart, but ranks that meet at servers do so in every step; "
                  "expected sgd, or an embedding {\"type\": \"async\"}");
  }
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
  if (e.run->convergence) {
    strategy.fail("embedding",
                  "what is learnt at servers is known of an embedding {\"type\": \"async\"} only; "
                  "expected that, or all-reduce");
  }
}

PlannedStep RankRun::plan(const Experiment& e, const Wanted& wanted) const {
  const bool is_served = e.aggregation->servers.count > 0;
  PlannedStep step = is_served ? closed_plan(e) : plan_step_of(e, wanted);
  if (is_served) step.plan = plan_training(e).step;  // whose buckets may be shards
  spdlog::debug("{}: played in an engine, {} all-reduces a step", e.name, step.plan.buckets.size());
  return step;
}

EmbeddedStep RankRun::play(const Experiment& e, const PlannedStep& step, const Seed& seed) const {
  std::optional<TrainingPlan> served;
  if (e.aggregation->servers.count > 0) served = plan_training(e);
  const Collective& inside = *e.aggregation->inside;
  std::optional<EmbeddedRun::Played> played;
  if (e.run->fidelity == Fidelity::kMessage) played = {step.machines.cluster.get(), &inside};
  const std::span<const Bucket> buckets = step.plan.buckets;
  const Cluster& cluster = *step.machines.cluster;
  Communicators::Decided decided{{}, buckets, &inside};
  if (e.transport->policy(*e.schedule, buckets, cluster))
    decided.policy = [&] { return e.transport->policy(*e.schedule, buckets, cluster); };
  const std::int64_t steps =
      decided.policy ? default_steps(*e.update, *e.schedule, *e.transport) : 1;
  const Convergence* const learns = e.run->convergence.get();
  const std::int64_t learning = learns == nullptr ? 0 : learns->steps(e.cluster->workers());
  const RankGpus::Costs overlap{
      .beside = served ? served->beside : slowdown_of(e, buckets),
      .beside_spread = served ? served->beside_spread : nullptr,
      .links = kernels_slow_links(e) ? e.cluster->intra_node_beside_kernels : 1};
  return embedded_step(*e.embedding, step.plan, e.workload->workload, step.units, inside.startup(),
                       {.workers = e.cluster->workers(),
                        .update = e.update.get(),
                        .latency = e.cluster->bottleneck().latency,
                        .steps = std::max(e.run->steps.value_or(steps), learning),
                        .learning = learning,
                        .seed = seed.seed,
                        .seeds = seeds_of(e),
                        .variation = step.machines.variation,
                        .played = played,
                        .decided = decided,
                        .served = served ? &*served : nullptr,
                        .overlap = overlap,
                        .attributes = seed.attributes,
                        .links = e.cluster->nodes > 1 ? Pairs::kBetweenNodes : Pairs::kInNode,
                        .timeline = seed.timeline,
                        .on_progress = seed.on_progress});
}

std::vector<LinkUse> RankRun::links(const Experiment& e, const PlannedStep& step,
                                    const EmbeddedStep& played) const {
  if (e.aggregation->servers.count > 0) return played.links;
  const auto steps = static_cast<double>(e.update->period());
  return links_of(e, step.plan, *step.machines.cluster,
                  {steps * to_seconds(played.times.step), steps});
}

}  // namespace steptime
