#include "sim/experiment/runs/engine_run.h"

#include "sim/core/error.h"
#include "sim/core/fingerprint.h"
#include "sim/experiment/result_text.h"
#include "sim/experiment/summary.h"
#include "tests/support/messages.h"
#include "tests/support/simulated.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Both kinds of runs in an engine, with more of the workload and of the run: four ranks whose main
/// threads issue all-reduces, and two GPUs of one process, with 1 GB/s between them, whose kvstore
/// merges.
std::vector<std::string> engines(const std::string& run, const std::string& workload = "{}") {
  const std::string rest = R"(, "workload": )" + workload + R"(, "run": )" + run + "}";
  return {R"({"strategy": {"embedding": "depcha"})" + rest,
          R"({"cluster": {"nodes": 1, "gpus_per_node": 2, "intra_node":
                {"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"}},
              "strategy": {"aggregation": {"type": "kvstore", "collective": null, "a": null,
                                           "b": null}})" +
              rest};
}

double sum_of(const std::vector<Cause>& causes) {
  double sum = 0;
  for (const Cause& cause : causes)
    sum += cause.seconds;
  return sum;
}

std::string variation(std::int64_t seed, std::int64_t seeds) {
  return fmt::format(R"({{"seed": {}, "steps": 5, "variation": {{"spread": 0.2, "seeds": {}}}}})",
                     seed, seeds);
}

TEST(EngineRun, GivesTheMeansOfItsSeeds) {
  const TinyFolder folder;
  for (std::size_t kind = 0; kind < 2; ++kind) {
    std::vector<double> steps;
    double cold = 0;
    double forward = 0;
    std::uint64_t fingerprint = 0;
    std::vector<SentBucket> first;
    for (const std::int64_t seed : {4, 5, 6}) {
      std::vector<SentBucket> buckets;
      const Result r =
          simulate(tiny_experiment(folder, engines(variation(seed, 1))[kind]), &buckets);
      EXPECT_EQ(r.seeds, 1);
      EXPECT_FALSE(r.step_percentiles);
      if (seed == 4) first = buckets;
      steps.push_back(r.step_time_s);
      cold += *r.cold_step_time_s / 3;
      fingerprint = seed == 4 ? r.fingerprint : mix(fingerprint, r.fingerprint);
      for (const Cause& cause : r.attribution)
        forward += cause.cause == "forward pass" ? cause.seconds / 3 : 0;
    }
    std::vector<SentBucket> buckets;
    const Experiment e = tiny_experiment(folder, engines(variation(4, 3))[kind]);
    const Result r = simulate(e, &buckets);
    EXPECT_EQ(r.seeds, 3);
    // To the picosecond of a mean.
    EXPECT_NEAR(r.step_time_s, (steps[0] + steps[1] + steps[2]) / 3, 2e-12);
    EXPECT_NEAR(*r.cold_step_time_s, cold, 2e-12);
    EXPECT_EQ(r.fingerprint, fingerprint);
    EXPECT_NEAR(sum_of(r.attribution), r.step_time_s, 1e-11);
    EXPECT_TRUE(std::any_of(r.attribution.begin(), r.attribution.end(), [&](const Cause& cause) {
      return cause.cause == "forward pass" && std::abs(cause.seconds - forward) < 1e-12;
    }));
    ASSERT_EQ(buckets.size(), first.size());
    for (std::size_t i = 0; i < buckets.size(); ++i)
      EXPECT_EQ(buckets[i].end_s, first[i].end_s);
    std::sort(steps.begin(), steps.end());
    ASSERT_TRUE(r.step_percentiles);
    EXPECT_EQ(r.step_percentiles->p50, steps[1]);
    EXPECT_EQ(r.step_percentiles->p95, steps[2]);
    EXPECT_NE(summary(e, r).find("of 3 seeds; p95"), std::string::npos) << summary(e, r);
  }
}

/// What keeps a step of ranks that are alike from its compute is what GPU 0 waits for, while
/// communication is under way or without it.
TEST(EngineRun, ItsTableNamesEachTimeOnce) {
  const TinyFolder folder;
  for (const std::string& engine : engines("{}")) {
    const Experiment e = tiny_experiment(folder, engine);
    const Result r = simulate(e);
    EXPECT_NEAR(r.exposed_comm_s,
                figure_of(r, "exposed_s") + figure_of(r, "idle_without_communication_s"), 1e-12);
    const std::string text = summary(e, r);
    std::vector<std::string> names;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      names.push_back(text.substr(at, 16));
    for (const char* name : {"    waits       ", "  communication ", "    in backward ",
                             "    in forward  ", "    exposed     ", "  GPU 0 idle    "})
      EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name << text;
    EXPECT_EQ(text.find("exposed comm"), std::string::npos) << text;
    EXPECT_NE(text.find(" ms   of the slowest worker: 3 messages, main thread, copies, updates\n"),
              std::string::npos)
        << text;
  }
}

TEST(EngineRun, TakesAsLongAsTheInputPipeline) {
  // 32 samples of a worker, and one or two workers on a node: 0.1 s at 320 or 640 a second.
  const TinyFolder folder;
  for (std::size_t kind = 0; kind < 2; ++kind) {
    const auto result = [&](double rate, std::vector<SentBucket>& buckets) {
      const std::string input =
          rate == 0 ? "{}" : fmt::format(R"({{"input": {}}})", rate * (kind == 0 ? 1 : 2));
      return simulate(tiny_experiment(folder, engines("{}", input)[kind]), &buckets);
    };
    std::vector<SentBucket> buckets;
    const Result bound = result(320, buckets);
    EXPECT_EQ(bound.step_time_s, 0.1);
    EXPECT_NEAR(sum_of(bound.attribution), 0.1, 1e-12);
    double input = 0;
    for (const Cause& cause : bound.attribution)
      input += cause.cause == "input" && cause.resource == "input pipeline" ? cause.seconds : 0;
    ASSERT_TRUE(bound.exposed_input_s);
    EXPECT_NEAR(*bound.exposed_input_s, input, 1e-12);
    EXPECT_GT(input, 0.04);
    EXPECT_NEAR(bound.exposed_comm_s, 0.1 - bound.compute_time_s - input, 1e-12);

    std::vector<SentBucket> as_usual;
    const Result unbound = result(0, as_usual);
    const Result fast = result(1e6, buckets);
    EXPECT_EQ(fast.step_time_s, unbound.step_time_s);
    EXPECT_EQ(fast.cold_step_time_s, unbound.cold_step_time_s);
    EXPECT_EQ(fast.fingerprint, unbound.fingerprint);
    EXPECT_EQ(fast.exposed_input_s, 0);
    EXPECT_FALSE(unbound.exposed_input_s);
    ASSERT_EQ(fast.attribution.size(), unbound.attribution.size());
    for (std::size_t i = 0; i < fast.attribution.size(); ++i)
      EXPECT_EQ(fast.attribution[i].seconds, unbound.attribution[i].seconds);
  }
}

TEST(EngineRun, SamplesNeedNotTakeAsLongAsTimeGoesOn) {
  // 64 samples at 6.1e-5 a second are 1e6 s, of which not even the 72 steps can be played that a
  // steady state may take.
  const TinyFolder folder;
  EXPECT_EQ(message_of<InputError>([&] {
              simulate(tiny_experiment(folder, engines("{}", R"({"input": 6.4e-5})")[1]));
            }),
            folder.path("x.json") +
                ": /workload/input: the samples of 72 steps take 1000000 s each, more than the "
                "4000000 s that can be simulated");
}

/// 64 samples, 4 a step and worker: 8 steps of two workers in an epoch.
std::string learning(const std::string& more = "") {
  return R"({"convergence": {"problem": {"type": "quadratic", "samples": 64, "noise": 0.5},
                             "epochs": 10, "batch": 4, "learning_rate": 0.02,
                             "target": 0.5, "seeds": 2})" +
         more + "}";
}

TEST(EngineRun, AKvstoreLearnsWhatAllReducesDo) {
  // Of conv, which is there last, GPU 1 has the sum at 42 ms + (0.01 + 1) ms, and GPU 0 as long
  // after that: step after step GPU 0 is 1.01 ms behind, and the last copy ends 44.02 ms later.
  const TinyFolder folder;
  const Result merged = simulate(tiny_experiment(folder, engines(learning())[1]));
  const Result reduced =
      simulate(tiny_experiment(folder, R"({"cluster": {"nodes": 1, "gpus_per_node": 2, "intra_node":
                    {"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"}},
                  "run": )" + learning() + "}"));
  const Result unlearnt = simulate(tiny_experiment(folder, engines("{}")[1]));
  EXPECT_EQ(merged.step_time_s, unlearnt.step_time_s);
  EXPECT_NEAR(merged.step_time_s, 0.04402, 1e-12);
  EXPECT_EQ(merged.cold_step_time_s, unlearnt.cold_step_time_s);
  EXPECT_NE(merged.fingerprint, unlearnt.fingerprint);
  EXPECT_EQ(merged.seeds, 2);
  ASSERT_TRUE(merged.training && reduced.training);
  EXPECT_TRUE(merged.training->learns);
  EXPECT_EQ(merged.training->seeds, reduced.training->seeds);
  for (std::size_t seed = 0; seed < 2; ++seed) {
    const auto& curve = merged.training->runs[seed].curve;
    const auto& expected = reduced.training->runs[seed].curve;
    ASSERT_EQ(curve.size(), 81U);
    ASSERT_EQ(expected.size(), 81U);
    for (std::size_t step = 0; step < curve.size(); ++step) {
      EXPECT_EQ(curve[step].score.accuracy, expected[step].score.accuracy);
      EXPECT_EQ(curve[step].score.loss, expected[step].score.loss);
      EXPECT_EQ(curve[step].epoch, expected[step].epoch);
      const double steady = step < 2 ? 0 : static_cast<double>(step - 1) * merged.step_time_s;
      EXPECT_NEAR(curve[step].time_s, step == 0 ? 0 : *merged.cold_step_time_s + steady, 1e-12);
    }
  }
  EXPECT_EQ(merged.training->epochs_to_target(), reduced.training->epochs_to_target());
  EXPECT_EQ(figure_of(merged, "final_accuracy"), figure_of(reduced, "final_accuracy"));
  EXPECT_GT(figure_of(merged, "time_to_target_s"), figure_of(reduced, "compute_time_s"));
}

TEST(EngineRun, AKvstoreWhoseGpusVaryLearnsTheSameAtOtherTimes) {
  const TinyFolder folder;
  const std::string varied = learning(R"(, "variation": {"jitter": 0.2})");
  const Result calm = simulate(tiny_experiment(folder, engines(learning())[1]));
  const Result merged = simulate(tiny_experiment(folder, engines(varied)[1]));
  const auto& curve = merged.training->runs[1].curve;
  ASSERT_EQ(curve.size(), 81U);
  for (std::size_t step = 1; step < curve.size(); ++step) {
    EXPECT_EQ(curve[step].score.accuracy, calm.training->runs[1].curve[step].score.accuracy);
    EXPECT_GT(curve[step].time_s, curve[step - 1].time_s);
  }
  // 80 steps, whose mean is another one where the first four do not count.
  EXPECT_NEAR(curve.back().time_s / 80, merged.training->runs[1].step_s, 0.002);
  EXPECT_NE(merged.training->runs[0].step_s, merged.training->runs[1].step_s);
}

TEST(EngineRun, WhatIsLearntWaitsForSamples) {
  // 0.1 s for 64 samples of two workers. The first step ends at 44.02 ms, each other one as long
  // after its samples are there.
  const TinyFolder folder;
  const Result r = simulate(tiny_experiment(folder, engines(learning(), R"({"input": 640})")[1]));
  EXPECT_EQ(r.step_time_s, 0.1);
  const auto& curve = r.training->runs[0].curve;
  EXPECT_NEAR(curve.back().time_s, 79 * 0.1 + 0.04402, 1e-12);
}

TEST(EngineRun, AKvstoreLearnsInLocalSteps) {
  const TinyFolder folder;
  const std::string local = R"(, "update": {"type": "local-sgd", "interval": 2}})";
  const auto with_update = [&](std::string patch, const std::string& end) {
    const std::size_t at = patch.find(end) + end.size() - 1;
    return patch.replace(at, 1, local);
  };
  const std::string merge = with_update(engines(learning())[1], R"("b": null}})");
  const Result merged = simulate(tiny_experiment(folder, merge));
  const Result reduced =
      simulate(tiny_experiment(folder, R"({"cluster": {"nodes": 1, "gpus_per_node": 2, "intra_node":
                    {"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"}},
                  "strategy": {"update": {"type": "local-sgd", "interval": 2}}, "run": )" +
                                           learning() + "}"));
  EXPECT_EQ(merged.messages, 2);  // three keys in every second step
  for (std::size_t seed = 0; seed < 2; ++seed) {
    const auto& curve = merged.training->runs[seed].curve;
    const auto& expected = reduced.training->runs[seed].curve;
    ASSERT_EQ(curve.size(), expected.size());
    for (std::size_t step = 0; step < curve.size(); ++step) {
      EXPECT_EQ(curve[step].score.loss, expected[step].score.loss);
      EXPECT_EQ(curve[step].epoch, static_cast<double>(step) / 8);
    }
    EXPECT_NEAR(curve[1].time_s, 0.042, 1e-12);
    EXPECT_NEAR(curve[4].time_s - curve[2].time_s, 2 * merged.step_time_s, 1e-9);
  }
}

// Every step ends as that of all-reduces does: the same is learnt, at the ends of the engine's
// steps.
TEST(EngineRun, AnEmbeddingLearnsWhatAllReducesDo) {
  const TinyFolder folder;
  for (const std::string& more :
       {std::string(), std::string(R"(, "variation": {"jitter": 0.2})")}) {
    const Result embedded = simulate(tiny_experiment(folder, engines(learning(more))[0]));
    const Result reduced = simulate(tiny_experiment(folder, R"({"run": )" + learning(more) + "}"));
    for (std::size_t seed = 0; seed < 2; ++seed) {
      const auto& curve = embedded.training->runs[seed].curve;
      const auto& expected = reduced.training->runs[seed].curve;
      ASSERT_EQ(curve.size(), 41U);  // four workers: four steps in each of ten epochs
      ASSERT_EQ(expected.size(), 41U);
      for (std::size_t step = 0; step < curve.size(); ++step) {
        EXPECT_EQ(curve[step].score.accuracy, expected[step].score.accuracy);
        EXPECT_EQ(curve[step].score.loss, expected[step].score.loss);
        EXPECT_TRUE(step == 0 || curve[step].time_s > curve[step - 1].time_s);
      }
      EXPECT_EQ(curve[1].time_s, embedded.training->runs[seed].cold_step_s);
    }
    EXPECT_EQ(embedded.training->epochs_to_target(), reduced.training->epochs_to_target());
  }
  const Result calm = simulate(tiny_experiment(folder, engines(learning())[0]));
  EXPECT_EQ(calm.step_time_s, simulate(tiny_experiment(folder, engines("{}")[0])).step_time_s);
  // Of steady steps each ends as long after the one before.
  const auto& curve = calm.training->runs[0].curve;
  EXPECT_NEAR(curve[40].time_s - curve[10].time_s, 30 * calm.step_time_s, 1e-11);
}

TEST(EngineRun, AnEmbeddingLearnsInLocalSteps) {
  const TinyFolder folder;
  const auto run = [&](const std::string& embedding) {
    return simulate(
        tiny_experiment(folder, R"({"strategy": {"update": {"type": "local-sgd", "interval": 3})" +
                                    embedding + R"(}, "run": )" + learning() + "}"));
  };
  const Result embedded = run(R"(, "embedding": "depcha")");
  const Result reduced = run("");
  for (std::size_t seed = 0; seed < 2; ++seed) {
    const auto& curve = embedded.training->runs[seed].curve;
    const auto& expected = reduced.training->runs[seed].curve;
    ASSERT_EQ(curve.size(), 41U);
    ASSERT_EQ(expected.size(), 41U);
    for (std::size_t step = 0; step < curve.size(); ++step) {
      EXPECT_EQ(curve[step].score.loss, expected[step].score.loss);
      EXPECT_EQ(curve[step].epoch, static_cast<double>(step) / 4);
    }
    EXPECT_NEAR(curve[39].time_s - curve[9].time_s, 30 * embedded.step_time_s, 1e-10);
  }
}

// Servers that wait for all change all values as one; sums are by rank.
TEST(EngineRun, AnEmbeddingLearnsAtServersWhatWorkersDo) {
  const TinyFolder folder;
  for (const char* const aggregation :
       {R"({"type": "parameter-server", "servers": 2, "collective": null)",
        R"({"type": "hybrid", "clients": 2, "servers": 1, "collective": {"type": "ring", "a": null,
                                                                        "b": null})",
        R"({"type": "hybrid", "clients": 1, "servers": 1, "collective": {"type": "ring", "a": null,
                                                                        "b": null})"}) {
    for (const char* const update : {R"("sgd")", R"({"type": "local-sgd", "interval": 3})"}) {
      const auto run = [&](const std::string& embedding) {
        return simulate(tiny_experiment(
            folder,
            fmt::format(R"({{"strategy": {{"aggregation": {}}}, "update": {}{}}}, "run": {}}})",
                        aggregation, update, embedding, learning())));
      };
      const Result embedded = run(R"(, "embedding": "depcha")");
      const Result workers = run("");
      for (std::size_t seed = 0; seed < 2; ++seed) {
        const auto& curve = embedded.training->runs[seed].curve;
        const auto& expected = workers.training->runs[seed].curve;
        ASSERT_EQ(curve.size(), 41U);
        ASSERT_EQ(expected.size(), 41U);
        for (std::size_t step = 0; step < curve.size(); ++step) {
          EXPECT_EQ(curve[step].score.loss, expected[step].score.loss) << aggregation << update;
          EXPECT_EQ(curve[step].epoch, static_cast<double>(step) / 4);
        }
      }
    }
  }
}

TEST(EngineRun, DrawsTheFirstSeedOnly) {
  const TinyFolder folder;
  for (std::size_t kind = 0; kind < 2; ++kind) {
    Timeline one;
    Timeline all;
    simulate(tiny_experiment(folder, engines(variation(4, 1))[kind]), one);
    const Result drawn = simulate(tiny_experiment(folder, engines(variation(4, 3))[kind]), all);
    EXPECT_EQ(all.spans().size(), one.spans().size());
    EXPECT_EQ(drawn.fingerprint,
              simulate(tiny_experiment(folder, engines(variation(4, 3))[kind])).fingerprint);
  }
}

TEST(EngineRun, ProgressRisesOverAllSeeds) {
  const TinyFolder folder;
  for (const std::string& patch : engines(variation(1, 4))) {
    std::vector<double> shares;
    simulate(tiny_experiment(folder, patch), nullptr,
             [&](double share) { shares.push_back(share); });
    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
    ASSERT_FALSE(shares.empty());
    EXPECT_GT(shares.back(), 0.75);
    EXPECT_LE(shares.back(), 1);
  }
}

}  // namespace
}  // namespace steptime
