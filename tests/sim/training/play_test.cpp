#include "sim/training/play.h"

#include "tests/support/training.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TrainingTimes play(const std::string& strategy, std::int64_t workers,
                   const std::string& run = "{}") {
  const Experiment e = training_experiment(strategy, workers, run);
  return play_programs(plan_of_all_steps(e), e.run->seed);
}

// Steps of 3 s and 8 MB, on ports of 1 ms and 1 GB/s: 8 ms for all gradients.

TEST(Play, SynchronousServersAnswerWhenAllHavePushed) {
  // Both push at 3 s, into one port: 1 + 2 x 8 ms. Both are answered then, out of one port: the
  // second one's values are there 1 + 2 x 8 ms later.
  const TrainingTimes times = play(strategy(servers(1), kSgd), 2);
  EXPECT_DOUBLE_EQ(times.end_s, 3 + 0.017 + 0.017);
  EXPECT_DOUBLE_EQ(times.step_s, times.end_s);
  EXPECT_DOUBLE_EQ(times.compute_s, 3);
  EXPECT_EQ(times.messages, 4);
}

TEST(Play, AsynchronousServersAnswerAtOnce) {
  // The first one's push is in after 9 ms and its values leave: 9 ms more. The second's is in 8 ms
  // later, and its values leave behind the first's, at 17 ms: 26 ms in all.
  const TrainingTimes times = play(strategy(servers(1), kAsgd), 2, R"({"steps": 1})");
  EXPECT_DOUBLE_EQ(times.end_s, 3 + 0.026);
  EXPECT_DOUBLE_EQ(times.step_s, 3 + (0.018 + 0.026) / 2);
}

TEST(Play, AllReducesFollowTheBackwardPass) {
  // A ring of two: 2 (2 - 1) (1 ms + 4 MB at 1 GB/s) = 10 ms for all as one, at the end.
  const TrainingTimes times = play(strategy(kRing, kSgd), 2, R"({"variation": {"straggle_chance": 1,
                                   "straggle_factor": 2}})");
  EXPECT_DOUBLE_EQ(times.end_s, 2 * 3 + 0.010);
  EXPECT_DOUBLE_EQ(times.all_reduces, 1);
  EXPECT_DOUBLE_EQ(times.reduce_busy_s, 0.010);
}

TEST(Play, LocalStepsMeetInACollective) {
  // Two steps of 3 s, and then 10 ms.
  const TrainingTimes times = play(strategy(kRing, R"({"type": "local-sgd", "interval": 2})"), 2);
  EXPECT_DOUBLE_EQ(times.end_s, 2 * 3 + 0.010);
  EXPECT_DOUBLE_EQ(times.step_s, times.end_s / 2);
}

TEST(Play, ParametersGoToServersBesideTheStep) {
  // Elastic averaging: pushed at the start, back long before 3 s.
  const TrainingTimes times =
      play(strategy(servers(1), R"({"type": "esgd", "interval": 1})"), 2, R"({"steps": 2})");
  EXPECT_DOUBLE_EQ(times.end_s, 2 * 3);
  EXPECT_EQ(times.messages, 2 * 2 * 2);
}

TEST(Play, CausesAddUpToTheStep) {
  const Experiment e = training_experiment(strategy(servers(1), kSgd), 2);
  Causes causes;
  const TrainingTimes times = play_programs(plan_training(e), 1, nullptr, nullptr, &causes);
  double sum = 0;
  for (const Cause& cause : times.attribution)
    sum += cause.seconds;
  EXPECT_NEAR(sum, times.step_s, 1e-12);
}

TEST(Play, ARunIsRepeatable) {
  const std::string run = R"({"steps": 3, "variation": {"jitter": 0.1}})";
  EXPECT_EQ(play(strategy(servers(2), kAsgd), 4, run).fingerprint,
            play(strategy(servers(2), kAsgd), 4, run).fingerprint);
}

/// Of one worker, whose two steps take 3 s each.
TEST(ReadyRun, KnowsHowFarItIs) {
  const Experiment e = training_experiment(strategy(kRing, kSgd), 1, R"({"steps": 2})");
  const TrainingPlan plan = plan_of_all_steps(e);
  World world;
  ReadyRun run(world, plan, 1);
  EXPECT_EQ(run.share(), 0);
  EXPECT_FALSE(run.has_reported());
  std::vector<double> shares;
  run.on_step([&] { shares.push_back(run.share()); });
  world.run();
  run.expect_over();
  EXPECT_EQ(shares, (std::vector<double>{0.5, 1}));
  EXPECT_TRUE(run.has_reported());
  EXPECT_EQ(run.times(nullptr).end_s, 6);
}

}  // namespace
}  // namespace steptime
