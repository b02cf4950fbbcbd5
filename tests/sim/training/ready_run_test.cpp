#include "sim/training/ready_run.h"

#include "tests/support/training.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Of one worker, whose two steps take 3 s each.
TEST(ReadyRun, KnowsHowFarItIs) {
  const Experiment e = training_experiment(strategy(kRing, kSgd), 1, R"({"steps": 2})");
  const TrainingPlan plan = plan_of_all_steps(e);
  World world;
  ReadyRun run(world, plan, 1, {}, nullptr);
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
