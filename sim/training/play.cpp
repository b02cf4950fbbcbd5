#include "sim/training/play.h"

#include "sim/core/fingerprint.h"
#include "sim/training/ready_run.h"

#include <bit>

namespace steptime {

void check_programs(const TrainingPlan& plan) {
  World world;
  const ReadyRun run(world, plan, 1, {}, nullptr);
}

TrainingTimes play_programs(const TrainingPlan& plan, std::int64_t seed, Learner* learner,
                            const Convergence* convergence, std::int64_t samples,
                            Timeline* timeline, Causes* causes) {
  World world(causes);
  ReadyRun run(world, plan, seed, {learner, convergence, static_cast<double>(samples)}, timeline);
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
