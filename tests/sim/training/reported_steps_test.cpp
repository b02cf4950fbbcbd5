#include "sim/training/reported_steps.h"

#include "tests/support/training.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Reported = TrainingPlan::Reported;

TrainingPlan plan_of(Reported reported, const std::string& update, std::int64_t steps = 1,
                     std::int64_t clients = 1) {
  TrainingPlan plan{.cluster = {.nodes = clients}, .aggregation = {.clients = clients}};
  plan.aggregation.servers.count = 1;
  plan.update = make<Update>(update);
  plan.steps = steps;
  plan.reported = reported;
  return plan;
}

/// Plays steps of these lengths in ms, the last one on and on, for all clients alike.
struct PlayedSteps {
  PlayedSteps(TrainingPlan of, const std::vector<double>& lengths_ms)
      : plan(std::move(of)), steps(plan, engine) {
    double end = 0;
    for (std::int64_t step = 0; steps.wants(step) && step < 1000; ++step) {
      steps.begun(step);
      end += step < std::ssize(lengths_ms) ? lengths_ms[static_cast<std::size_t>(step)]
                                           : lengths_ms.back();
      for (std::int32_t c = 0; c < static_cast<std::int32_t>(plan.trainers()); ++c)
        steps.ended(c, step, Time{} + from_seconds(end * 1e-3), When{});
    }
  }
  TrainingPlan plan;
  Engine engine;
  ReportedSteps steps;
};

TEST(ReportedSteps, AreSteadyWhenThreeInARowTakeTheSameTime) {
  const TrainingPlan plan = plan_of(Reported::kSteady, kSgd);
  const PlayedSteps run(plan, {5, 8, 7, 7, 7, 100});
  EXPECT_EQ(run.steps.played(), 5);
  EXPECT_DOUBLE_EQ(run.steps.step_s(), 0.007);
  EXPECT_DOUBLE_EQ(run.steps.cold_step_s().value(), 0.005);
}

/// Three for a steady state; those up to the second exchange and the reported ones; these alone.
TEST(ReportedSteps, SoManyArePlayedAtLeast) {
  EXPECT_EQ(least_steps(plan_of(Reported::kSteady, kSgd)), 3);
  EXPECT_EQ(least_steps(plan_of(Reported::kSteady, kSgd, 7)), 7);
  EXPECT_EQ(least_steps(plan_of(Reported::kAfterTwo, kSgd, 7)), 9);
  EXPECT_EQ(least_steps(plan_of(Reported::kAll, kSgd, 7)), 7);
}

TEST(ReportedSteps, AreTheSameWithinANanosecond) {
  const TrainingPlan plan = plan_of(Reported::kSteady, kSgd);
  EXPECT_EQ(PlayedSteps(plan, {7, 7.000001, 7, 100}).steps.played(), 3);
  EXPECT_EQ(PlayedSteps(plan, {7, 7.000002, 7.000002, 7.000002, 100}).steps.played(), 4);
}

/// Of an update that exchanges every second step, two are one: 3 + 5, 1 + 5, 1 + 5, 1 + 5 ms.
TEST(ReportedSteps, AreThoseFromExchangeToExchange) {
  const TrainingPlan plan =
      plan_of(Reported::kSteady, R"({"type": "local-sgd", "interval": 2})", 2);
  const PlayedSteps run(plan, {3, 5, 1, 5, 1, 5, 1, 5, 100});
  EXPECT_EQ(run.steps.played(), 8);
  EXPECT_DOUBLE_EQ(run.steps.step_s(), 0.003);
  EXPECT_DOUBLE_EQ(run.steps.cold_step_s().value(), 0.004);
}

/// From the first of the equal steps on: four, of which three are known when it is seen.
TEST(ReportedSteps, AreAsManyAsTheConfigSays) {
  const TrainingPlan plan = plan_of(Reported::kSteady, kSgd, 4);
  const PlayedSteps run(plan, {5, 7, 7, 7, 7.0004, 100});
  EXPECT_EQ(run.steps.played(), 5);
  EXPECT_NEAR(run.steps.step_s(), (3 * 0.007 + 0.0070004) / 4, 1e-15);
}

/// Steps of 1 and 2 ms in turn: the mean of the second half of 64.
TEST(ReportedSteps, WithoutASteadyStateAreTheSecondHalf) {
  std::vector<double> lengths;
  for (int i = 0; i < 70; ++i)
    lengths.push_back(1 + i % 2);
  const PlayedSteps run(plan_of(Reported::kSteady, kSgd), lengths);
  EXPECT_EQ(run.steps.played(), 64);
  EXPECT_EQ(run.steps.unsettled(), 64);
  EXPECT_NEAR(run.steps.step_s(), 0.0015, 1e-15);
}

/// Asynchronous steps, reported from the third on; elastic ones every four steps from the ninth.
TEST(ReportedSteps, LeaveOutWhatComesBeforeTheSecondExchangeIsOver) {
  const PlayedSteps async(plan_of(Reported::kAfterTwo, kAsgd, 3), {50, 40, 7, 8, 9});
  EXPECT_EQ(async.steps.played(), 5);
  EXPECT_FALSE(async.steps.counts(1));
  EXPECT_TRUE(async.steps.counts(2));
  EXPECT_DOUBLE_EQ(async.steps.step_s(), 0.008);
  EXPECT_DOUBLE_EQ(async.steps.rate_per_s().value(), 125);
  EXPECT_EQ(async.steps.unsettled(), 0);
  EXPECT_DOUBLE_EQ(async.steps.cold_step_s().value(), 0.05);
  const PlayedSteps elastic(plan_of(Reported::kAfterTwo, R"({"type": "esgd", "interval": 4})", 4),
                            {1, 1, 1, 5, 1, 1, 1, 1, 2, 2, 2, 4});
  EXPECT_EQ(elastic.steps.played(), 12);
  EXPECT_DOUBLE_EQ(elastic.steps.step_s(), 0.0025);
  EXPECT_DOUBLE_EQ(elastic.steps.cold_step_s().value(), 0.002);
}

TEST(ReportedSteps, AreAllWhereNothingIsUnderWayBefore) {
  const PlayedSteps run(plan_of(Reported::kAll, kSgd, 3), {1, 2, 6});
  EXPECT_EQ(run.steps.played(), 3);
  EXPECT_DOUBLE_EQ(run.steps.step_s(), 0.003);
  EXPECT_FALSE(run.steps.rate_per_s());
  EXPECT_FALSE(run.steps.cold_step_s());
}

/// Client 1 ends each step 1 ms after client 0, which is a step ahead when client 1 shows that the
/// steps are steady: it ends its own.
TEST(ReportedSteps, WhoIsAheadEndsItsStep) {
  const TrainingPlan plan = plan_of(Reported::kSteady, kSgd, 1, 2);
  Engine engine;
  ReportedSteps steps(plan, engine);
  const auto at = [](int ms) { return Time(milliseconds(ms)); };
  steps.begun(0);
  for (int step = 0; step < 3; ++step) {
    EXPECT_FALSE(steps.ended(0, step, at(3 * step + 2), {}));
    steps.begun(step + 1);
    EXPECT_EQ(steps.ended(1, step, at(3 * step + 3), {}), step == 2);
  }
  EXPECT_TRUE(steps.wants(3));
  EXPECT_FALSE(steps.wants(4));
  steps.ended(0, 3, at(11), {});
  steps.ended(1, 3, at(12), {});
  EXPECT_EQ(steps.played(), 4);
  EXPECT_DOUBLE_EQ(steps.step_s(), 0.003);
}

/// Pushes and pulls of a run are those of its exchanges: 3 exchanges in 12 steps, one of them in
/// the four reported ones.
TEST(ReportedSteps, HaveTheirShareOfTheExchanges) {
  const PlayedSteps run(plan_of(Reported::kAfterTwo, R"({"type": "esgd", "interval": 4})", 4), {1});
  EXPECT_DOUBLE_EQ(run.steps.per_step(), 3 * 4);
}

/// 100,000 workers of 3,000 steps of 100 s compute 3 x 10^10 s, of which a Duration holds 9 x 10^6.
TEST(SumOfTimes, HoldsWhatAllWorkersComputeInAllSteps) {
  SumOfTimes of_worker;
  for (int step = 0; step < 3000; ++step)
    of_worker.add(std::chrono::seconds(100));
  SumOfTimes all;
  for (int worker = 0; worker < 100'000; ++worker)
    all.add(of_worker);
  EXPECT_EQ(all.mean_s(3000.0 * 100'000), 100);
}

}  // namespace
}  // namespace steptime
