// Two-layer steps of 3 s and 8 MB, on ports of 1 ms and 1 GB/s: a ring of two takes 10 ms.
#include "sim/training/jobs.h"

#include "tests/support/training.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

SharedJob job(std::vector<std::int64_t> nodes, std::int64_t steps, Duration start = {}) {
  const Experiment e =
      training_experiment(strategy(kRing, kSgd), static_cast<std::int64_t>(nodes.size()),
                          R"({"fidelity": "message", "steps": )" + std::to_string(steps) + "}");
  SharedJob made{plan_of_all_steps(e), std::move(nodes), 1};
  made.plan.start = Time{} + start;
  return made;
}

Cluster network(std::int64_t nodes) {
  return *training_experiment(strategy(kRing, kSgd), nodes).cluster;
}

TEST(PlayJobs, TellEachFromItsOwnStart) {
  const auto times =
      play_jobs(network(5), {job({4, 1}, 2), job({0, 3}, 2, std::chrono::milliseconds(500))});
  ASSERT_EQ(times.size(), 2U);
  for (const TrainingTimes& each : times) {
    EXPECT_DOUBLE_EQ(each.step_s, 3.010);
    EXPECT_DOUBLE_EQ(each.compute_s, 3);
    EXPECT_DOUBLE_EQ(each.all_reduces, 1);
  }
  // The first one ends its step that it has begun when the second one has its two.
  EXPECT_DOUBLE_EQ(times[0].end_s, 3 * 3.010);
  EXPECT_DOUBLE_EQ(times[1].end_s, 0.5 + 2 * 3.010);
}

/// While one has three steps, another that reports one goes on, and is told of that one. It begins
/// a fourth one at the instant at which the other ends its third, just before that.
TEST(PlayJobs, GoOnWhileOthersHaveSteps) {
  const auto times = play_jobs(network(4), {job({0, 1}, 1), job({2, 3}, 3)});
  EXPECT_DOUBLE_EQ(times[0].step_s, 3.010);
  EXPECT_DOUBLE_EQ(times[0].compute_s, 3);
  EXPECT_DOUBLE_EQ(times[0].end_s, 4 * 3.010);
  EXPECT_DOUBLE_EQ(times[1].step_s, 3.010);
}

TEST(PlayJobs, AloneAreWhatTheirRunIs) {
  const SharedJob alone = job({1, 0}, 2);
  const TrainingTimes times = play_jobs(network(2), {alone}).front();
  const TrainingTimes run = play_programs(alone.plan, 1);
  EXPECT_EQ(times.step_s, run.step_s);
  EXPECT_EQ(times.end_s, run.end_s);
}

}  // namespace
}  // namespace steptime
