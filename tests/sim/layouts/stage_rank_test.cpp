#include "sim/layouts/stage_rank.h"

#include "sim/layouts/passes_in_order.h"
#include "sim/layouts/rank_program.h"
#include "sim/runtime/mediums.h"
#include "tests/support/layouts.h"

#include <memory>

#include <gtest/gtest.h>

namespace steptime {
namespace {

struct Scene {
  explicit Scene(const LayoutPlan& plan)
      : roads(plan.roads->make(world, plan)),
        all(world, {"all"}, 1, std::make_unique<NoMedium>(world)),
        passes(plan),
        repetition(world, plan, passes.order, false),
        run{world, plan, *roads, all, passes.chunks, repetition, nullptr},
        rank(run, 0, 0) {
    rank.join(rank, rank);
  }
  World world;
  std::unique_ptr<LayoutRoads> roads;
  Group all;
  StepPasses passes;
  Repetition repetition;
  LayoutRun run;
  StageRank rank;
};

// Three parameters: weights of 2 B, gradients of 4 B, states of 12 B, over two ranks of ZeRO-1:
// 6 + 12 + 36 / 2, and 100 of context.
TEST(StageRank, HoldsItsStatesFromTheStart) {
  ModelWork work = work_of_blocks(3, {1, 1, 1});
  work.parameter = {.weight = 2, .gradient = 4, .optimizer = 12};
  work.context = {100};
  const LayoutPlan plan =
      plan_of({.degrees = {1, 1, 2, 1}, .states = R"({"type": "zero"})"}, std::move(work));
  Scene scene(plan);
  EXPECT_EQ(scene.rank.memory().total(), 6 + 12 + 18 + 100);
}

TEST(StageRank, SaysWhatItIsDoing) {
  const LayoutPlan plan = plan_of({.micro_batches = 2}, work_of_blocks(1, {1, 1, 1}));
  Scene scene(plan);
  EXPECT_EQ(scene.rank.doing(), "step");
  EXPECT_EQ(scene.rank.begin(1), (Pass{PassKind::kBackward, 0, 0, true}));
  EXPECT_EQ(scene.rank.doing(), "pass 1, backward of micro-batch 0 in chunk 0");
}

// The optimizer takes 10 ps for each of 6 parameters, behind the passes of 60 ps.
TEST(StageRank, UpdatesItsOwnPartOfTheWeights) {
  ModelWork work = work_of_blocks(2, {10, 10, 10}, 3);
  work.update = [](std::int64_t params) { return Duration(10 * params); };
  const LayoutPlan plan = plan_of({}, std::move(work));
  Scene scene(plan);
  scene.world.spawn({"rank", 0}, trains_a_step(scene.rank));
  scene.world.run();
  EXPECT_EQ(since_start(scene.rank.ended()).count(), 60 + 60);
  EXPECT_EQ(scene.rank.spent()[static_cast<std::size_t>(Spent::kOptimizer)].count(), 60);
}

}  // namespace
}  // namespace steptime
