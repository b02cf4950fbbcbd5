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
  if (e.aggregation->servers.count > 0 || !e.update->ends_together()) {
    strategy.fail("embedding",
                  "an engine embeds all-reduce in step; with servers, a kvstore or an update by "
                  "which workers part expected {\"type\": \"async\"}");
  }
}

PlannedStep RankRun::plan(const Experiment& e, const Wanted& wanted) const {
  PlannedStep step = plan_step_of(e, wanted);
  spdlog::debug("{}: played in an engine, {} all-reduces a step", e.name, step.plan.buckets.size());
  return step;
}

EmbeddedStep RankRun::play(const Experiment& e, const PlannedStep& step, const Seed& seed) const {
  std::optional<EmbeddedRun::Played> played;
  if (e.run->fidelity == Fidelity::kMessage)
    played = {step.machines.cluster.get(), e.collective.get()};
  const std::span<const Bucket> buckets = step.plan.buckets;
  const Cluster& cluster = *step.machines.cluster;
  Communicators::Decided decided{{}, buckets, e.collective.get()};
  if (e.transport->policy(*e.schedule, buckets, cluster))
    decided.policy = [&] { return e.transport->policy(*e.schedule, buckets, cluster); };
  const std::int64_t steps =
      decided.policy ? default_steps(*e.update, *e.schedule, *e.transport) : 1;
  const Convergence* const learns = e.run->convergence.get();
  const std::int64_t learning = learns == nullptr ? 0 : learns->steps(e.cluster->workers());
  return embedded_step(*e.embedding, step.plan, e.workload->workload, step.units,
                       e.collective->startup(),
                       {.workers = e.cluster->workers(),
                        .latency = e.cluster->bottleneck().latency,
                        .steps = std::max(e.run->steps.value_or(steps), learning),
                        .learning = learning,
                        .seed = seed.seed,
                        .seeds = seeds_of(e),
                        .variation = step.machines.variation,
                        .played = played,
                        .decided = decided,
                        .attributes = seed.attributes,
                        .links = e.cluster->nodes > 1 ? Pairs::kBetweenNodes : Pairs::kInNode,
                        .timeline = seed.timeline,
                        .on_progress = seed.on_progress});
}

std::vector<LinkUse> RankRun::links(const Experiment& e, const PlannedStep& step,
                                    const EmbeddedStep& played) const {
  return links_of(e, step.plan, *step.machines.cluster, {.seconds = to_seconds(played.times.step)});
}

}  // namespace steptime
