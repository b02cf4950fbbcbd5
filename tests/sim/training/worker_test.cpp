#include "sim/training/worker.h"

#include "sim/runtime/mediums.h"
#include "sim/workload/slowed_medium.h"
#include "tests/support/training.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

std::int64_t ms(Time time) {
  return since_start(time) / milliseconds(1);
}

/// Worker 0 of two, in steps of 1 s forward and 2 s backward, two buckets: the second layer's
/// gradients are there after 2 s, the first one's after 3.
struct Scene {
  explicit Scene(const std::string& run, const std::string& more = "wfbp")
      : plan(plan_of_all_steps(training_experiment(strategy(servers(1), kSgd, more), 2, run))),
        record(plan, world.engine, 2, false, {}),
        training{world, plan, 1, record, nullptr, Drawing(plan, nullptr)},
        worker(training, 0, 0, 0, 1) {}

  /// Steps in which every bucket is back `back` after its gradients are there.
  Task steps(Duration back) {
    while (worker.begin_step()) {
      notes.push_back(ms(world.now()));
      worker.forward();
      worker.expect(2);
      for (const std::size_t bucket : {0U, 1U}) {
        co_await worker.gradient(bucket);
        notes.push_back(ms(world.now()));
        worker.came(static_cast<std::int32_t>(bucket), When(world.now() + back));
      }
      worker.backward();
      co_await worker.all();
      worker.end_step();
    }
  }

  World world;
  TrainingPlan plan;
  Record record;
  TrainingRun training;
  Worker worker;
  std::vector<std::int64_t> notes;  ///< ms
};

TEST(Worker, AStepIsOverWhenAllOfItIs) {
  Scene run(R"({"steps": 2})");
  run.world.spawn({"worker"}, run.steps(milliseconds(500)));
  run.world.run();
  EXPECT_EQ(run.notes, (std::vector<std::int64_t>{0, 2000, 3000, 3500, 5500, 6500}));
  EXPECT_EQ(run.worker.end(), Time(milliseconds(7000)));
  EXPECT_EQ(run.worker.compute(0), milliseconds(3000));
  EXPECT_EQ(run.worker.begin(1), Time(milliseconds(5500)));  // of the second bucket's gradients
}

// The passes of two workers end at 3 s. Worker 0's began first, though it had its exchange back
// last.
TEST(Worker, PassesThatEndAtOneInstantEndInTheOrderInWhichTheyBegan) {
  Scene run(R"({"steps": 1})");
  Worker other(run.training, 1, 0, 1, 1);
  const auto elastic_step = [&](Worker& me, Duration back) -> Task {
    (void)me.begin_step();
    me.forward();
    me.expect(1);
    run.world.engine.after(back, Phase::kNormal, [&] { me.came(0, run.world.present()); });
    me.backward();
    co_await me.all();
    EXPECT_EQ(ms(run.world.now()), 3000);
    run.notes.push_back(me.number());
  };
  run.world.spawn({"worker", 0}, elastic_step(run.worker, milliseconds(2500)));
  run.world.spawn({"worker", 1}, elastic_step(other, milliseconds(1500)));
  run.world.run();
  EXPECT_EQ(run.notes, (std::vector<std::int64_t>{0, 1}));
}

TEST(Worker, ASlowOneTakesLonger) {
  Scene run(R"({"steps": 1, "variation": {"straggle_chance": 1, "straggle_factor": 3}})");
  run.world.spawn({"worker"}, run.steps({}));
  run.world.run();
  EXPECT_EQ(run.notes, (std::vector<std::int64_t>{0, 6000, 9000}));
  EXPECT_EQ(run.worker.end(), Time(milliseconds(9000)));
}

TEST(Worker, ACollectiveSlowsItsKernelsDown) {
  Scene run(R"({"steps": 1})");
  run.plan.beside = [](Bytes) { return Slowdown{.compute = 2, .collective = 1}; };
  SlowedMedium medium(run.world,
                      std::make_unique<AloneMedium>(
                          run.world, *run.plan.aggregation.inside,
                          [](Bytes) { return milliseconds(1000); }, AloneMedium::PartsOf{}),
                      run.plan.beside, {&run.worker});
  run.world.spawn({"worker"}, run.steps({}));
  // Beside a collective from 0.5 to 1.5 s half a second's work is done: all is later by that.
  run.world.engine.at(Time(milliseconds(500)), Phase::kNormal, [&] {
    medium.start({1}, {[](void*, std::uint64_t) {}, nullptr, 0});
  });
  run.world.run();
  EXPECT_EQ(run.notes, (std::vector<std::int64_t>{0, 2500, 3500}));
  EXPECT_EQ(run.worker.end(), Time(milliseconds(3500)));
}

TEST(Worker, WaitsForItsSamples) {
  Scene run(R"({"steps": 2})");
  run.plan.step.input = milliseconds(4000);  // of a step
  run.world.spawn({"worker"}, run.steps({}));
  run.world.run();
  // The second step's samples are there at 4 s: it waits for 1 s; what comes behind it, until 8 s.
  EXPECT_EQ(run.notes, (std::vector<std::int64_t>{0, 2000, 3000, 3000, 6000, 7000}));
  EXPECT_EQ(run.record.waited_for_input().mean_s(1), 2);
  EXPECT_EQ(run.worker.end(), Time(milliseconds(8000)));
}

}  // namespace
}  // namespace steptime
