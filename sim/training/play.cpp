#include "sim/training/play.h"

#include "sim/core/fingerprint.h"
#include "sim/training/fleet.h"

#include <algorithm>
#include <bit>

namespace steptime {
namespace {

/// Whether a forward pass looks ahead to values that come while it goes on: those that a step pulls
/// at its start it waits for anyway.
bool looks_ahead(const TrainingPlan& plan) {
  const ServerGroup& servers = plan.aggregation.servers;
  return plan.layers_wait() && (servers.count == 0 || servers.requests->brings_values);
}

/// A run that is ready to be played.
struct ReadyRun {
  ReadyRun(const TrainingPlan& plan, std::int64_t seed, const Record::Learning& learning,
           Timeline* timeline, Causes* causes)
      : world(causes),
        record(plan, world.engine, static_cast<std::size_t>(plan.trainers()), looks_ahead(plan),
               learning),
        training{world, plan, seed, record, learning.learner, Drawing(plan, timeline)},
        roads(plan.roads(world, plan)),
        fleet(training, *roads) {}
  World world;
  Record record;
  TrainingRun training;
  std::unique_ptr<Roads> roads;
  Fleet fleet;
};

}  // namespace

void check_programs(const TrainingPlan& plan) {
  const ReadyRun run(plan, 1, {}, nullptr, nullptr);
}

TrainingTimes play_programs(const TrainingPlan& plan, std::int64_t seed, Learner* learner,
                            const Convergence* convergence, std::int64_t samples,
                            Timeline* timeline, Causes* causes) {
  ReadyRun run(plan, seed, {learner, convergence, static_cast<double>(samples)}, timeline, causes);
  World& world = run.world;
  Record& record = run.record;
  const Fleet& fleet = run.fleet;
  const double work = work_of(plan);
  const auto report = [&] {
    const double share = work > 0
                             ? static_cast<double>(fleet.messages() + record.reductions()) / work
                             : static_cast<double>(fleet.workers().front().step()) /
                                   static_cast<double>(plan.played_steps());
    plan.on_progress(std::min(share, 1.0));  // how many steps there are is not always known
  };
  if (plan.on_progress) run.training.on_step = report;
  world.run(run.training.on_step);
  fleet.expect_over();

  TrainingTimes times;
  record.tell(times);
  const ReportedSteps& steps = record.steps();
  const auto workers = static_cast<double>(fleet.workers().size());
  SumOfTimes computed;
  Time last{};
  for (const Worker& worker : fleet.workers()) {
    computed.add(worker.computed());
    last = std::max(last, worker.end());
  }
  times.end_s = to_seconds(since_start(last));
  times.compute_s = computed.mean_s(workers * steps.counted());
  times.input_s = record.waited_for_input().mean_s(workers * steps.reported());
  if (fleet.servers() != nullptr) {
    SumOfTimes busy;
    busy.add(fleet.servers()->most_busy());
    times.server_busy_s = busy.mean_s(steps.per_step());
    times.messages = fleet.messages();
    times.messages_per_step = static_cast<double>(times.messages) / steps.per_step();
    times.staleness = fleet.servers()->staleness();
  }
  if (causes != nullptr) times.attribution = steps.attribution(*causes);
  times.links = run.roads->links(to_seconds(since_start(std::max(last, world.now()))),
                                 static_cast<double>(steps.played()));
  times.fingerprint = world.engine.fingerprint();
  if (learner == nullptr) return times;
  for (const double value : learner->client(0))
    times.fingerprint = mix(times.fingerprint, std::bit_cast<std::uint64_t>(value));
  return times;
}

}  // namespace steptime
