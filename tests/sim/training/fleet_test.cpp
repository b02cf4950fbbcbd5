#include "sim/training/fleet.h"

#include "tests/support/training.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

struct Scene {
  explicit Scene(const std::string& strategy, std::int64_t workers = 4)
      : plan(plan_of_all_steps(training_experiment(strategy, workers))),
        record(plan, world.engine, static_cast<std::size_t>(plan.trainers()), false, {}),
        run{world, plan, 1, record, nullptr, Drawing(plan, nullptr)},
        roads(plan.roads(world, plan)),
        fleet(run, *roads) {}
  World world;
  TrainingPlan plan;
  Record record;
  TrainingRun run;
  std::unique_ptr<Roads> roads;
  Fleet fleet;
};

TEST(Fleet, EveryWorkerOfServersIsOne) {
  const Scene scene(strategy(servers(2), kSgd));
  EXPECT_EQ(scene.fleet.workers().size(), 4u);
  EXPECT_NE(scene.fleet.servers(), nullptr);
  EXPECT_EQ(scene.world.stuck().size(), 4u);  // programs that have not begun
}

TEST(Fleet, WorkersThatMoveInStepAreOne) {
  const Scene all(strategy(kRing, kSgd));
  EXPECT_EQ(all.fleet.workers().size(), 1u);
  EXPECT_EQ(all.fleet.servers(), nullptr);
  const Scene clients(strategy(R"({"type": "hybrid", "clients": 2, "servers": 1})", kSgd));
  EXPECT_EQ(clients.fleet.workers().size(), 2u);
}

TEST(Fleet, WorkersWithParametersOfTheirOwnAreThemselves) {
  const Scene scene(strategy(kRing, R"({"type": "local-sgd", "interval": 2})"));
  EXPECT_EQ(scene.fleet.workers().size(), 4u);
}

TEST(Fleet, AllEndsWhenNobodyWaitsForEver) {
  Scene scene(strategy(servers(2), kSgd));
  scene.world.run();
  EXPECT_NO_THROW(scene.fleet.expect_over());
  EXPECT_EQ(scene.fleet.servers()->messages(), 4 * 2 * 2);  // one message to each server, and back
}

}  // namespace
}  // namespace steptime
