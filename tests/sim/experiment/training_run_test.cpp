#include "sim/experiment/training_run.h"

#include "sim/experiment/result_text.h"
#include "sim/experiment/simulate.h"
#include "tests/support/presets.h"
#include "tests/support/simulated.h"
#include "tests/support/training.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TrainingOutcome outcome(std::vector<std::optional<CurvePoint>> reached) {
  TrainingOutcome o{.learns = true, .target = 0.5};
  for (std::optional<CurvePoint>& point : reached) {
    o.seeds.push_back(static_cast<std::int64_t>(o.seeds.size()));
    TrainingTimes& run = o.runs.emplace_back();
    run.curve = {{.time_s = 0, .score = {.accuracy = 0.1}}};
    if (!point) continue;
    point->score.accuracy = 0.5;
    run.curve.push_back(*point);
  }
  return o;
}

TEST(TrainingRun, TimeToTargetIsTheMedianOverTheSeeds) {
  const TrainingOutcome three =
      outcome({CurvePoint{.time_s = 5}, CurvePoint{.time_s = 1}, CurvePoint{.time_s = 2}});
  EXPECT_EQ(three.time_to_target(), 2);
  EXPECT_EQ(three.fastest_to_target(), 1);
  EXPECT_EQ(three.slowest_to_target(), 5);
}

TEST(TrainingRun, HalfTheSeedsAreNotEnough) {
  const TrainingOutcome half = outcome({CurvePoint{.time_s = 5}, std::nullopt});
  EXPECT_FALSE(half.time_to_target());
  EXPECT_FALSE(half.slowest_to_target());
  EXPECT_EQ(half.fastest_to_target(), 5);
}

TEST(TrainingRun, ATargetIsReachedWhereItIsMetFirst) {
  const TrainingTimes run{.curve = {{.time_s = 0, .score = {.accuracy = 0.1}},
                                    {.time_s = 1, .score = {.accuracy = 0.5}},
                                    {.time_s = 2, .score = {.accuracy = 0.4}}}};
  TrainingOutcome one{.seeds = {1}, .runs = {run}, .learns = true, .target = 0.4};
  EXPECT_EQ(one.time_to_target(), 1);
  one.target = 0.6;
  EXPECT_FALSE(one.time_to_target());
}

TEST(TrainingRun, OneRunPerSeed) {
  const std::string run = R"({"convergence": {"problem": {"type": "quadratic"}, "epochs": 2,
      "batch": 10, "learning_rate": 0.1, "target": 0.5, "seeds": 3}})";
  const Result r = simulate(training_experiment(strategy(servers(2), kAsgd), 4, run));
  ASSERT_EQ(r.training->runs.size(), 3u);
  EXPECT_EQ(r.training->seeds, (std::vector<std::int64_t>{1, 2, 3}));
  // 2 epochs of 1000 samples by 4 workers of 10: 50 steps, tested before the first and after each.
  EXPECT_EQ(r.training->runs[0].curve.size(), 51u);
  EXPECT_EQ(r.training->runs[0].curve.front().time_s, 0);
  EXPECT_NEAR(figure_of(r, "final_accuracy"), 1, 0.01);
  EXPECT_GT(figure_of(r, "time_to_target_s"), 0);
}

TEST(TrainingRun, WithoutLearningThereIsNoAccuracy) {
  const Result r = simulate(training_experiment(strategy(servers(2), kAsgd), 4));
  EXPECT_FALSE(r.training->final_accuracy());
  EXPECT_THROW(figure_of(r, "final_accuracy"), InputError);
}

TEST(TrainingRun, ProgressRisesOverAllSeeds) {
  const Experiment e = training_experiment(strategy(servers(2), kSgd), 4, R"({"convergence":
      {"problem": {"type": "quadratic", "samples": 64}, "epochs": 2, "batch": 4,
       "learning_rate": 0.1, "seeds": 3}})");
  std::vector<double> shares;
  simulate(e, nullptr, [&](double share) { shares.push_back(share); });
  // 2 epochs of 64 / 16 steps, and 3 seeds.
  ASSERT_EQ(shares.size(), 3 * 2 * 64 / 16U);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_NEAR(shares[7], 1.0 / 3, 1e-12);
  EXPECT_NEAR(shares.back(), 1, 1e-12);
}

/// Four workers whose speeds are normal wait for the slowest of them, and all-reduces take no time:
/// a step is 42 ms (1 + 0.1 z), where z is the largest of four: 1.029 on average (sd 0.701), its
/// median 0.998 and 95 % quantile 2.234, from Phi(z)^4 = 1/2 and 0.95. Five standard errors of 2000
/// seeds are 0.08; of the quantile, whose density is about 0.13, 0.19.
TEST(TrainingRun, WorkersThatVaryWaitForTheSlowest) {
  const TinyFolder folder;
  const Result r = simulate(tiny_experiment(folder, R"({
      "strategy": {"aggregation": {"collective": {"a": "0 s", "b": "0 s/B"}}},
      "run": {"variation": {"spread": 0.1, "seeds": 2000}}})"));
  const auto z = [&](const char* key) { return (figure_of(r, key) / 0.042 - 1) / 0.1; };
  EXPECT_NEAR(z("step_time_s"), 1.029, 0.08);
  EXPECT_NEAR(z("step_time_p50_s"), 0.998, 0.1);
  EXPECT_NEAR(z("step_time_p95_s"), 2.234, 0.19);
  EXPECT_GT(z("step_time_p99_s"), z("step_time_p95_s"));
}

TEST(TrainingRun, ElasticStepsGoFromOneExchangeToTheNext) {
  const auto steps = [](const std::string& update, const std::string& run) {
    return plan_training(training_experiment(strategy(servers(1), update), 2, run)).steps;
  };
  const std::string elastic = R"({"type": "esgd", "interval": 5})";
  EXPECT_EQ(steps(elastic, "{}"), 5);
  EXPECT_EQ(steps(elastic, R"({"steps": 1})"), 1);
  EXPECT_EQ(steps(kAsgd, "{}"), 20);
  EXPECT_EQ(steps(kSgd, "{}"), 1);
}

TEST(TrainingRun, SaysHowUnevenServersAre) {
  // Two keys of 1,000,000 elements: both servers have a half of each, or one server has both.
  const auto fullest = [](const std::string& aggregation) {
    return simulate(training_experiment(strategy(aggregation, kSgd), 2)).training->fullest_server;
  };
  EXPECT_EQ(fullest(servers(2)), 1);
  EXPECT_EQ(fullest(servers(4, R"(, "sharding": {"type": "round-robin"})")), 2);
}

TEST(TrainingRun, ClosedPortsAreNotTheNodesGraph) {
  const auto domain = [](const std::string& placement, const std::string& run) {
    Experiment e = training_experiment(
        strategy(servers(1, R"(, "placement": ")" + placement + '"'), kSgd), 8, run);
    e.cluster = std::make_shared<Cluster>(preset_cluster("dgx-1-v100", 1, 8));
    return simulate(e).domain.beyond.front();
  };
  EXPECT_EQ(domain("with-workers", "{}"),
            "closed forms know the GPUs' links to their host, not what they share");
  EXPECT_EQ(domain("with-workers", R"({"fidelity": "message"})"),
            "messages to servers beside their workers go through the node's port to the network");
  EXPECT_TRUE(domain("own-nodes", "{}").starts_with("no measured steps of its kind"));
}

}  // namespace
}  // namespace steptime
