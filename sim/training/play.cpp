#include "sim/training/play.h"

#include "sim/core/fingerprint.h"

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

}  // namespace

ReadyRun::ReadyRun(World& world, const TrainingPlan& plan, std::int64_t seed, Learner* learner,
                   Timeline* timeline)
    : world_(world),
      plan_(plan),
      record_(plan, world.engine, static_cast<std::size_t>(plan.trainers()), looks_ahead(plan),
              learner),
      training_{world, plan, seed, record_, learner, Drawing(plan, timeline)},
      roads_(plan.roads(world, plan)),
      fleet_(training_, *roads_),
      work_(work_of(plan)) {}

double ReadyRun::share() const {
  const double share = work_ > 0
                           ? static_cast<double>(fleet_.messages() + record_.reductions()) / work_
                           : static_cast<double>(fleet_.workers().front().step()) /
                                 static_cast<double>(plan_.played_steps());
  return std::min(share, 1.0);  // how many steps there are is not always known
}

bool ReadyRun::has_reported() const {
  return !record_.steps().is_reported(fleet_.workers().front().step());
}

double ReadyRun::compute_s(double step_s) const {
  const auto& workers = fleet_.workers();
  const ReportedSteps& steps = record_.steps();
  const MeetingSteps counted{steps.first(), steps.played(), plan_.update->period()};
  const auto count = static_cast<std::int64_t>(workers.size());
  const auto computed = [&](std::int64_t worker, std::int64_t step) {
    return workers[static_cast<std::size_t>(worker)].compute(step);
  };
  SumOfTimes sum;
  const bool meet = plan_.update->has_met(counted.period);
  if (meet && counted.period == 1) {
    for (std::int64_t step = counted.first; step < counted.last; ++step)
      sum.add(record_.longest_compute(step));
  } else if (meet) {
    sum.add(computed_by_slowest(counted, count, computed));
  }
  // Who waits for nothing, or only for values of a step before, makes up for slow steps.
  if (meet) return std::min(sum.mean_s(steps.counted()), step_s);
  for (std::int64_t worker = 0; worker < count; ++worker) {
    for (std::int64_t step = counted.first; step < counted.last; ++step)
      sum.add(computed(worker, step));
  }
  return sum.mean_s(static_cast<double>(count) * steps.counted());
}

TrainingTimes ReadyRun::times(const Causes* causes) {
  TrainingTimes times;
  record_.tell(times);
  const ReportedSteps& steps = record_.steps();
  const auto workers = static_cast<double>(fleet_.workers().size());
  Time last{};
  for (const Worker& worker : fleet_.workers())
    last = std::max(last, worker.end());
  times.end_s = to_seconds(since_start(last));
  times.compute_s = compute_s(times.step_s);
  times.input_s = record_.waited_for_input().mean_s(workers * steps.reported());
  if (fleet_.servers() != nullptr) record_.tell(times, *fleet_.servers(), fleet_.messages());
  if (causes != nullptr) times.attribution = steps.attribution(*causes);
  times.links = roads_->links(to_seconds(since_start(std::max(last, world_.now()))),
                              static_cast<double>(steps.played()));
  times.fingerprint = world_.engine.fingerprint();
  return times;
}

void check_programs(const TrainingPlan& plan) {
  World world;
  const ReadyRun run(world, plan, 1);
}

TrainingTimes play_programs(const TrainingPlan& plan, std::int64_t seed, Learner* learner,
                            Timeline* timeline, Causes* causes) {
  World world(causes);
  ReadyRun run(world, plan, seed, learner, timeline);
  std::function<void()> report;
  if (plan.on_progress) report = [&] { plan.on_progress(run.share()); };
  run.on_step(report);
  world.run(report);
  run.expect_over();
  TrainingTimes times = run.times(causes);
  if (learner == nullptr) return times;
  for (const double value : learner->client(0))
    times.fingerprint = mix(times.fingerprint, std::bit_cast<std::uint64_t>(value));
  return times;
}

}  // namespace steptime
