// What do ranks do in their engines under updates that do not sum gradients in every step?
#include "sim/core/error.h"
#include "sim/core/fast_paths.h"
#include "sim/experiment/result.h"
#include "sim/experiment/simulate.h"
#include "sim/mxnet/embedding.h"
#include "tests/support/embedded.h"
#include "tests/support/training.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::vector<std::string> kEngines{"naive", "funnel", "concum", "depcha"};

std::unique_ptr<Update> local_sgd(int interval) {
  return make<Update>(fmt::format(R"({{"type": "local-sgd", "interval": {}}})", interval));
}

EmbeddedStep run_local(const Embedding& embedding, std::span<const LayerTimes> times, int interval,
                       EmbeddedRun run = {.workers = 2}) {
  const auto update = local_sgd(interval);
  run.update = update.get();
  return run_embedded(embedding, layers_of(times), line(kSecond, {}), run);
}

//  comm                               [ar1][ar2]
//  compute  F1 F2 B2 B1  F1 F2 B2 B1      [F1][F2]...    4 s, then 4 s and ar1; ar2 hides under F1
TEST(LocalSteps, ParametersAreSummedInTheLastOfThem) {
  const std::vector<LayerTimes> times(2, {kSecond, kSecond});
  const EmbeddedStep step = run_local(*embedding_of("depcha", R"("bulk": 1)"), times, 2);
  EXPECT_EQ(step.times.step, 9 * kSecond / 2);
  EXPECT_EQ(step.attribution.hidden_under_forward, kSecond / 2);
  EXPECT_EQ(step.attribution.exposed, kSecond / 2);
  EXPECT_EQ(step.times.comm_busy, kSecond);
  EXPECT_EQ(step.cold, 10 * kSecond / 2) << "to the end of ar2";
  EXPECT_FALSE(step.bounds);
}

// A key is updated, and then sent, when its own gradient is there: of three backward segments of
// 2 s the last one's second is exposed, in every second step.
TEST(LocalSteps, AKeyWaitsForItsOwnGradientOnly) {
  const std::vector<LayerTimes> times(3, {Duration{}, 2 * kSecond});
  EXPECT_EQ(run_local(*embedding_of("naive"), times, 2).times.step, (6 + 7) * kSecond / 2);
}

// As with sums of gradients (Embedding.FunnelsStepIsThatOfItsMainThread, 6.94 s), but the update's
// call, 0.1 s, and its push, 0.01 s, are before the copy, under the backward pass.
TEST(LocalSteps, TheMainThreadUpdatesFirst) {
  const auto embedding =
      embedding_of("funnel",
                   R"("python_call": "100 ms", "engine_push": "10 ms", "wake_up": "1 s",
         "copy_latency": "500 ms")");
  const std::vector<LayerTimes> layer{{kSecond, 2 * kSecond}};
  EXPECT_EQ(to_seconds(run_local(*embedding, layer, 1).times.step), 6.83);
}

// 1 s and 2 s of compute, an update of 0.25 s, and in every third step a copy of 0.5 s to the host,
// a sum of 1 s and a copy back.
TEST(LocalSteps, CausesAreThoseOfAMeanStep) {
  const std::vector<LayerTimes> layer{{kSecond, 2 * kSecond}};
  for (const std::string& type : kEngines) {
    const EmbeddedStep step =
        run_local(*embedding_of(type, R"("copy_latency": "600 ms", "update": "250 ms")"), layer, 3,
                  {.workers = 2, .attributes = true});
    EXPECT_EQ(
        spent(step),
        (SecondsByCause{{{"forward pass", "GPU"}, 1},
                        {{"backward pass", "GPU"}, 2},
                        {{"updates of weights", "GPU"}, 0.25},
                        {{"copies between GPU and host", "copy engines"}, 0.4},
                        {{"start-up of collectives", "links between nodes"}, 0.333333333333}}))
        << type;
  }
}

// Ranks wait for each other in every fourth step only: the slowest sum of four steps, behind four
// such periods of warm-up, and 1 s.
TEST(LocalSteps, RanksMakeUpForTheirSlowStepsBetweenTwoExchanges) {
  const std::vector<LayerTimes> layer{{2 * kSecond, 3 * kSecond}};
  EmbeddedRun run{.workers = 4, .steps = 4, .seed = 7, .variation = {.jitter = 0.2}};
  double slowest = 0;
  for (std::int64_t rank = 0; rank < run.workers; ++rank) {
    double sum = 0;
    for (std::int64_t step = 16; step < 20; ++step)
      sum += 5 * run.variation.factor(run.seed, rank, step);
    slowest = std::max(slowest, sum);
  }
  for (const std::string& type : kEngines) {
    const EmbeddedStep step = run_local(*embedding_of(type), layer, 4, run);
    EXPECT_NEAR(to_seconds(step.times.step), (slowest + 1) / 4, 1e-11) << type;
    EXPECT_NEAR(to_seconds(step.times.compute), slowest / 4, 1e-11) << type;
  }
}

TEST(LocalSteps, OneRankStandsForAll) {
  const std::vector<LayerTimes> times(3, {kSecond, 2 * kSecond});
  for (const std::string& type : kEngines) {
    const auto embedding =
        embedding_of(type, R"("python_call": "100 ms", "wake_up": "50 ms", "bulk": 1)");
    const EmbeddedStep one = run_local(*embedding, times, 3, {.workers = 5});
    const WithoutFastPaths all_ranks;
    const EmbeddedStep all = run_local(*embedding, times, 3, {.workers = 5});
    EXPECT_EQ(one.simulated_ranks, 1);
    EXPECT_EQ(all.simulated_ranks, 5);
    EXPECT_EQ(one.times, all.times) << type;
    EXPECT_EQ(one.attribution.waits, all.attribution.waits) << type;
  }
}

// As LocalSgd.ClientsAllReduceGradientsInEveryStepAndExchangeParametersNowAndThen: behind 3 s a
// ring of 10 ms in every step, and in the second one 34 ms by way of the server, and 9 ms of
// broadcast. ConCum's two ranks have a barrier of 1 ms before their parameters.
TEST(LocalSteps, ClientsSumGradientsInEveryStepAndMeetAtServersNowAndThen) {
  for (const std::string& type : kEngines) {
    Json json = parse_json(
        strategy(R"({"type": "hybrid", "clients": 2, "servers": 1, "requests": "pushpull"})",
                 R"({"type": "local-sgd", "interval": 2})"),
        "x.json");
    json["embedding"] = {{"type", type},          {"python_call", "0 s"},
                         {"engine_push", "0 s"},  {"wake_up", "0 s"},
                         {"copy_latency", "0 s"}, {"copy_bandwidth", "1e9 TB/s"}};
    const Result r = simulate(training_experiment(json.dump(), 4));
    EXPECT_EQ(r.embedded->simulated_ranks, 2) << type;
    const double barrier = type == "concum" ? 0.001 : 0;
    EXPECT_NEAR(*r.cold_step_time_s, 3 + 0.010 + (0.034 + 0.009 + barrier) / 2, 1e-9) << type;
  }
}

TEST(LocalSteps, AreAsManyAsFit) {
  const std::vector<LayerTimes> layer{{kSecond, kSecond}};
  EXPECT_THROW(run_local(*embedding_of("depcha"), layer, 1'000'000), PlacedError);
}

}  // namespace
}  // namespace steptime
