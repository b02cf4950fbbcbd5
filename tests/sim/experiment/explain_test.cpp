// What a step depends on, worked out by hand for the tiny experiment: 42 ms of compute, and after
// it the last message of 1 MB, a + b x 1 MB = 1 ms + 1 ms.
#include "sim/experiment/explain.h"

#include "sim/config/data_dir.h"
#include "sim/core/error.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "tests/support/messages.h"
#include "tests/support/tiny_experiment.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

Explanation explained(const std::string& patch = "{}") {
  const TinyFolder folder;
  return explain(load_document(folder.experiment(patch), {}));
}
double elasticity(const Explanation& explanation, const std::string& pointer) {
  for (const Elasticity& e : explanation.elasticities) {
    if (e.pointer == pointer) return e.per_cent;
  }
  return 0;
}

/// What the step's critical path passes with something, s.
double spent(const Explanation& explanation, const std::string& cause) {
  double sum = 0;
  for (const Cause& c : explanation.result.attribution)
    sum += c.cause == cause ? c.seconds : 0;
  return sum;
}

/// Two GPUs of one process, whose kvstore merges.
constexpr const char* kKvstore = R"("cluster": {"nodes": 1, "gpus_per_node": 2, "intra_node":
    {"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"}},
    "strategy": {"aggregation": {"type": "kvstore", "collective": null}})";

/// The step without something, s; 0: it is no limit.
double limit(const Explanation& explanation, const std::string& without) {
  for (const StepLimit& l : explanation.limits) {
    if (l.without == without) return l.step_time_s;
  }
  return 0;
}

/// step = compute + a + b M: each one's share of the step is its elasticity.
TEST(Explain, ElasticitiesAreShares) {
  const Explanation explanation = explained();
  ASSERT_EQ(explanation.elasticities.size(), 3U);  // the link of the switch is not used
  EXPECT_EQ(explanation.elasticities[0].pointer, "/workload/compute_time");
  EXPECT_NEAR(explanation.elasticities[0].per_cent, 42.0 / 44, 1e-4);
  EXPECT_NEAR(elasticity(explanation, "/strategy/aggregation/collective/a"), 1.0 / 44, 1e-4);
  EXPECT_NEAR(elasticity(explanation, "/strategy/aggregation/collective/b"), 1.0 / 44, 1e-4);
}

/// More bandwidth makes a step shorter: beta M of a ring of 4 over 1 GB/s, 1.5 ns/B, and six
/// latencies of 10 us on 1 MB after 42 ms: 42 + 0.06 + 1.5 ms.
TEST(Explain, OfARing) {
  const Explanation explanation = explained(
      R"({"strategy": {"aggregation": {"collective": {"type": "ring", "a": null, "b": null}}}})");
  EXPECT_NEAR(explanation.result.step_time_s, 0.04356, 1e-9);
  EXPECT_NEAR(elasticity(explanation, "/cluster/network/bandwidth"), -1.5 / 43.56, 1e-4);
  EXPECT_NEAR(elasticity(explanation, "/cluster/network/latency"), 0.06 / 43.56, 1e-4);
  EXPECT_EQ(explanation.bottleneck(), "compute: 96.4 % of the critical path");  // 42 / 43.56
  EXPECT_EQ(explanation.limits[1].without, "limits of bandwidth");
  EXPECT_NEAR(explanation.limits[1].step_time_s, 0.04206, 1e-9);
}

TEST(Explain, LimitsAreRunsInWhichSomethingCostsNothing) {
  const Explanation explanation = explained();
  ASSERT_EQ(explanation.limits.size(), 3U);
  EXPECT_EQ(explanation.limits[0].without, "communication");
  EXPECT_NEAR(explanation.limits[0].step_time_s, 0.042, 1e-9);
  EXPECT_EQ(explanation.limits[1].without, "start-ups and latencies");
  EXPECT_NEAR(explanation.limits[1].step_time_s, 0.043, 1e-9);
  EXPECT_EQ(explanation.limits[2].without, "times per byte of sums and hosts");
  EXPECT_NEAR(explanation.limits[2].step_time_s, 0.043, 1e-9);
}

/// One worker takes 42 ms; more of them 44 ms, as T(M) does not depend on their number.
// 32 samples at 500 a second take 64 ms; without that wait the step is the 44 ms of the tiny one.
TEST(Explain, SaysThatALayoutDoesNotFitTheMemory) {
  Explanation explanation = explained();
  EXPECT_EQ(explanation.text().find("memory:"), std::string::npos);
  EXPECT_FALSE(explanation.json().contains("fits"));
  // 60 + 20 + 3 GB, of 80 GB.
  explanation.result.memory = TrainingMemory{.weights = Bytes{60'000'000'000},
                                             .activations = Bytes{20'000'000'000},
                                             .context = Bytes{3'000'000'000},
                                             .device = Bytes{80'000'000'000}};
  EXPECT_NE(explanation.text().find("\nmemory: 83 GB at least, of 80 GB: it does not fit\n"),
            std::string::npos)
      << explanation.text();
  EXPECT_EQ(explanation.json().at("fits"), false);
  explanation.result.memory->device = Bytes{84'000'000'000};
  EXPECT_EQ(explanation.text().find("memory:"), std::string::npos);
  EXPECT_EQ(explanation.json().at("fits"), true);
}

TEST(Explain, SamplesThatComeTooLateAreTheBottleneck) {
  const Explanation explanation = explained(R"({"workload": {"input": 500}})");
  ASSERT_EQ(explanation.limits.size(), 1U);
  EXPECT_EQ(explanation.bottleneck(),
            "waits for samples: without them a step takes 44.000 ms, 31.2 % less");
}

// fc's two all-reduces take 6.004 ms beside the backward pass, which does two thirds of that
// meanwhile.
TEST(Explain, CostsOfOverlapAreALimit) {
  const Explanation explanation =
      explained(R"({"workload": {"overlap": {"type": "factors", "compute": 1.5}}})");
  const auto found =
      std::find_if(explanation.limits.begin(), explanation.limits.end(),
                   [](const StepLimit& limit) { return limit.without == "costs of overlap"; });
  ASSERT_NE(found, explanation.limits.end());
  EXPECT_NEAR(explanation.result.step_time_s, 44e-3 + 6.004e-3 / 3, 1e-12);
  EXPECT_NEAR(found->step_time_s, 44e-3, 1e-12);
}

/// Worker 2 at half the speed computes for 84 ms, and its last message of 1 + 1 ms follows; without
/// it the step is the 44 ms of the others. So where it is slow by chance, of which a seed is sure.
TEST(Explain, SlowerWorkersAreALimit) {
  for (const char* variation :
       {R"({"gpus": [{"node": 2, "speed": 0.5}, {"node": 1, "speed": 1.5}]})",
        R"({"slow_chance": 1, "slow_speed": 0.5})"}) {
    const Explanation explanation =
        explained(fmt::format(R"({{"run": {{"variation": {}}}}})", variation));
    EXPECT_NEAR(explanation.result.step_time_s, 0.086, 1e-12) << variation;
    EXPECT_NEAR(limit(explanation, "slower workers"), 0.044, 1e-12) << variation;
    EXPECT_EQ(limit(explanation, "slower links"), 0) << variation;
  }
  EXPECT_EQ(limit(explained(), "slower workers"), 0);
}

/// The slow worker's passes take 84 ms, of which 42 are those of the others; then its last message.
/// Where the backward pass goes at two thirds of its speed beside the 6.004 ms of fc's messages, a
/// third of these comes on top.
TEST(Explain, WhatBothPassesTakeLongerIsTheSlowerWorkers) {
  for (const bool slows : {false, true}) {
    const Explanation explanation = explained(fmt::format(
        R"({{"run": {{"variation": {{"gpus": [{{"node": 2, "speed": 0.5}}]}}}}{}}})",
        slows ? R"(, "workload": {"overlap": {"type": "factors", "compute": 1.5}})" : ""));
    EXPECT_NEAR(spent(explanation, "forward pass"), 0.015, 1e-12);
    EXPECT_NEAR(spent(explanation, "backward pass"), 0.027, 1e-12);
    EXPECT_NEAR(spent(explanation, "slower worker"), 0.042, 1e-12);
    EXPECT_NEAR(spent(explanation, "backward pass slowed by collectives"), slows ? 6.004e-3 / 3 : 0,
                1e-12);
  }
}

/// Without communication a worker at half the speed still computes for 84 ms, and so all do that
/// wait for it in every step: ranks of an engine, GPUs of a kvstore, clients of servers.
TEST(Explain, WithoutCommunicationAStepIsTheSlowestWorkers) {
  const auto variation = [](const char* gpu) {
    return fmt::format(R"("run": {{"variation": {{"gpus": [{{{}, "speed": 0.5}}]}}}})", gpu);
  };
  for (const std::string& patch :
       {fmt::format("{{{}}}", variation(R"("node": 2)")),
        fmt::format(R"({{{}, "strategy": {{"embedding": "depcha"}}}})", variation(R"("node": 2)")),
        fmt::format("{{{}, {}}}", variation(R"("node": 0, "gpu": 0)"), kKvstore),
        fmt::format(R"({{{}, "strategy": {{"aggregation": {{"type": "parameter-server",
                    "servers": 1, "collective": null}}}}}})",
                    variation(R"("node": 2)"))}) {
    const Explanation explanation = explained(patch);
    const Result& r = explanation.result;
    EXPECT_NEAR(r.compute_time_s, 0.084, 1e-12) << patch;
    EXPECT_NEAR(r.forward_time_s, 0.030, 1e-12) << patch;
    EXPECT_NEAR(limit(explanation, "communication"), 0.084, 1e-12) << patch;
    EXPECT_NEAR(r.exposed_comm_s, r.step_time_s - 0.084, 1e-12) << patch;
  }
}

/// Clients that do not wait for each other: (3 x 42 + 84) / 4 ms.
TEST(Explain, WithoutCommunicationAnAsynchronousStepIsTheMean) {
  const Explanation explanation = explained(R"({
      "run": {"variation": {"gpus": [{"node": 2, "speed": 0.5}]}}, "strategy": {"update": "asgd",
      "aggregation": {"type": "parameter-server", "servers": 1, "collective": null}}})");
  EXPECT_NEAR(limit(explanation, "communication"), 0.0525, 1e-12);
}

/// Whatever makes workers differ: without it a step is what it is of workers that are alike.
TEST(Explain, WorkersThatAreSlowerByChanceAreALimit) {
  for (const char* variation : {R"({"jitter": 0.1})", R"({"spread": 0.1})", R"("typical")",
                                R"({"straggle_chance": 0.5, "straggle_factor": 2})"}) {
    const std::string run = fmt::format(R"("run": {{"steps": 4, "variation": {}}})", variation);
    EXPECT_NEAR(limit(explained(fmt::format("{{{}}}", run)), "slower workers"), 0.044, 1e-12)
        << variation;
    EXPECT_NEAR(limit(explained(fmt::format("{{{}, {}}}", run, kKvstore)), "slower workers"),
                explained(fmt::format("{{{}}}", kKvstore)).result.step_time_s, 1e-12)
        << variation;
  }
  const auto depcha = [](double jitter) {
    return explained(fmt::format(
        R"({{"strategy": {{"embedding": {{"type": "depcha", "jitter": {}}}}}}})", jitter));
  };
  EXPECT_NEAR(limit(depcha(0.1), "slower workers"), depcha(0).result.step_time_s, 1e-12);
  EXPECT_EQ(limit(depcha(0), "slower workers"), 0);
}

TEST(Explain, RefusesWhatRunRefusesOfConvergence) {
  const std::string error =
      message_of<InputError>([] { explained(R"({"run": {"convergence": {"problem": 3}}})"); });
  EXPECT_NE(error.find(": /run/convergence/problem: "), std::string::npos) << error;
}

/// Compute is what the critical path has of it, whatever workers compute beside the path.
TEST(Explain, ComputeIsThatOfTheCriticalPath) {
  Explanation explanation;
  Result& r = explanation.result;
  r.step_time_s = 0.1;
  r.compute_time_s = 0.061;
  r.attribution = {{"transfer", "links", 0.052},
                   {"backward pass", "GPU", 0.020},
                   {"forward pass", "GPU", 0.018},
                   {"slower worker", "GPU", 0.01}};
  EXPECT_EQ(explanation.bottleneck(),
            "none alone: compute is 38.0 % of the critical path, and nothing else saves as much");
  explanation.limits = {{"communication", 0.061}};  // 39 % less
  EXPECT_EQ(explanation.bottleneck(),
            "communication: without it a step takes 61.000 ms, 39.0 % less");
  r.attribution[0].seconds = 0.032;
  r.attribution[1].seconds = 0.040;
  EXPECT_EQ(explanation.bottleneck(), "compute: 58.0 % of the critical path");
  r.attribution.clear();  // as of runs with too many messages
  EXPECT_EQ(explanation.bottleneck(), "compute: 61.0 % of the step");
}

/// What OfARing has, 43.56 ms, with an adapter of a third of the rate: beta M is 4.5 ms.
TEST(Explain, SlowerLinksAreALimit) {
  const Explanation explanation = explained(
      R"({"strategy": {"aggregation": {"collective": {"type": "ring", "a": null, "b": null}}},
          "run": {"fidelity": "message",
                  "slow_links": {"adapters": [{"node": 1, "factor": 3}]}}})");
  EXPECT_NEAR(explanation.result.step_time_s, 0.04656, 1e-9);
  EXPECT_NEAR(limit(explanation, "slower links"), 0.04356, 1e-9);
  EXPECT_EQ(limit(explanation, "slower workers"), 0);
}

TEST(Explain, ScalingGoesFromOneNodeToFourTimesAsMany) {
  const Explanation explanation = explained(R"({"cluster": {"nodes": 3}})");
  ASSERT_EQ(explanation.scaling.size(), 5U);  // 1, 2, 3, 4, 8
  EXPECT_EQ(explanation.scaling[2].nodes, 3);
  EXPECT_NEAR(explanation.scaling[0].step_time_s, 0.042, 1e-12);
  EXPECT_NEAR(explanation.scaling[4].speedup, 8 * 42.0 / 44, 1e-9);
  EXPECT_EQ(explanation.knee(), 0);
}

/// 100 ms for each message: two nodes give 2 x 42 / (20 + 3 x ~100 ms), less than one.
TEST(Explain, TheKneeIsWhereTwiceAsManyGainLittle) {
  const Explanation explanation =
      explained(R"({"strategy": {"aggregation": {"collective": {"a": "100 ms"}}}})");
  EXPECT_EQ(explanation.knee(), 1);
  EXPECT_EQ(explanation.bottleneck().substr(0, 24), "start-ups and latencies:");
}

TEST(Explain, CausesAddUpToTheStepAndTextAndJsonSayTheSame) {
  const Explanation explanation = explained();
  double sum = 0;
  for (const Cause& cause : explanation.result.attribution)
    sum += cause.seconds;
  EXPECT_NEAR(sum, explanation.result.step_time_s, 1e-12);
  const Json json = explanation.json();
  EXPECT_EQ(json["scaling"].size(), explanation.scaling.size());
  // Of the experiment as it is, the same as in the result.
  EXPECT_EQ(json["scaling"][2]["step_time_interval_s"],
            Json({explanation.result.step_time_interval_s.low,
                  explanation.result.step_time_interval_s.high}));
  EXPECT_EQ(json["knee_nodes"], 0);
  const std::string text = explanation.text();
  EXPECT_TRUE(
      text.starts_with("tiny: a step takes 44.000 ms on 4 workers\n\n"
                       "bottleneck: compute: 95.5 % of the critical path\n"))  // 42 / 44
      << text;
  EXPECT_NE(text.find("/workload/compute_time"), std::string::npos);
}

/// fc.b and fc.w bring the first bucket to 4.004 MB, but not to 1 % more: then conv comes along.
///
///   fc | conv    20 .. 25.004, 42 .. 44
///   all in one   42 .. 42 + 1 + 5.004 = 48.004
TEST(Explain, AStepThatJumpsHasNoSlopeThere) {
  const Explanation explanation = explained(R"({"strategy": {"schedule":
      {"type": "fixed-buckets", "first_capacity": "4.004 MB"}}})");
  ASSERT_EQ(explanation.jumps.size(), 1U) << explanation.text();
  const Jump& jump = explanation.jumps[0];
  EXPECT_EQ(jump.pointer, "/strategy/schedule/first_capacity");
  EXPECT_EQ(jump.less_pct, 0);
  EXPECT_NEAR(jump.more_pct, (48.004 / 44 - 1) * 100, 1e-9);
  EXPECT_EQ(jump.change(), "2, 2, 1");
  EXPECT_TRUE(jump.replans);
  EXPECT_EQ(elasticity(explanation, jump.pointer), 0);
  EXPECT_NE(explanation.text().find("the step bends or jumps with"), std::string::npos);
  EXPECT_EQ(explanation.json()["jumps"][0]["messages"], Json({2, 2, 1}));
}

/// fc's messages end with the backward pass: 20 ms + 2 x 1 ms + 4.004 MB x b = 42 ms. With a faster
/// b the step is 42 + 1 + 1 MB x b, with a slower one 20 + 3 + 5.004 MB x b.
TEST(Explain, ABendHasASlopeOnEachSide) {
  const Explanation explanation = explained(R"({"strategy": {"aggregation": {"collective":
      {"type": "linear", "a": "1 ms", "b": "4.995004995 ns/B"}}}})");
  const double b = 4.995004995;
  const auto bend =
      std::find_if(explanation.jumps.begin(), explanation.jumps.end(),
                   [](const Jump& j) { return j.pointer == "/strategy/aggregation/collective/b"; });
  ASSERT_NE(bend, explanation.jumps.end());
  EXPECT_NEAR(bend->less_pct, (b / 1.01 - b) / (43 + b) * 100, 1e-4);
  EXPECT_NEAR(bend->more_pct, 5.004 * .01 * b / (43 + b) * 100, 1e-4);
  EXPECT_EQ(bend->change(), "3");
}

/// Jobs have nodes of their own: on others they are not the same jobs.
TEST(Explain, JobsAreNotScaled) {
  const Explanation explanation =
      explain(load_document((data_dir() / "configs/examples/two-jobs.json").string(), {}));
  EXPECT_TRUE(explanation.scaling.empty());
  EXPECT_EQ(explanation.knee(), 0);
}

/// Why a change is refused is said, once.
TEST(Explain, WhatCannotBeVariedSaysWhy) {
  const Explanation explanation =
      explain(load_document((data_dir() / "configs/examples/llama2-7b.json").string(), {}));
  ASSERT_EQ(explanation.fixed.size(), 1U);
  EXPECT_EQ(explanation.fixed.front().name, "/workload/compute_time");
  EXPECT_NE(explanation.text().find("refused:\n  /workload/compute_time: unexpected with the shape "
                                    "of a transformer"),
            std::string::npos);
}

/// A latency that must be positive is a picosecond where there are no latencies.
TEST(Explain, LimitsKeepWhatMustBePositive) {
  const Explanation explanation = explained(
      R"({"cluster": {"network": {"type": "25gbe", "latency": null, "bandwidth": null}},
          "strategy": {"aggregation": {"collective": {"type": "ring", "a": null, "b": null}}}})");
  EXPECT_TRUE(explanation.fixed.empty());
  EXPECT_GT(limit(explanation, "start-ups and latencies"), 0);
}

/// MG-WFBP would merge more messages with a longer start-up; held, one start-up, that of conv's
/// message, is on the critical path.
TEST(Explain, APlanCanBeHeld) {
  const TinyFolder folder;
  const auto config =
      load_document(folder.experiment(R"({"strategy": {"schedule": {"type": "mg-wfbp"}}})"), {});
  const Explanation held = explain(config, {.fixed_plan = true});
  EXPECT_TRUE(held.jumps.empty());
  EXPECT_NEAR(elasticity(held, "/strategy/aggregation/collective/a"), 1.0 / 44, 1e-4);
  const auto decides = load_document(
      folder.experiment(R"({"strategy": {"schedule": {"type": "tensor-fusion"}}})"), {});
  const std::string message =
      message_of<InputError>([&] { (void)explain(decides, {.fixed_plan = true}); });
  EXPECT_EQ(message,
            "--fixed-plan: schedule or transport decide while the step runs: expected a schedule "
            "that plans beforehand, as fixed-buckets or mg-wfbp");
}

/// 50 ms instead of 44: 32 samples of each of four workers in 50 ms (a step that is 1.136 times as
/// long); 48 ms of compute instead of 42 (1.143); b = 5.396 ns/B, as fc's messages then hold up
/// conv's: 20 ms + 3 x 1 ms + 5.004 MB x b. With a = 7 ms they do not.
TEST(Explain, SaysWhatWouldMakeAStepTakeWhatWasMeasured) {
  const TinyFolder folder;
  const Explanation explanation =
      explain(load_document(folder.experiment(), {}), {.measured = from_seconds(0.050)});
  const auto& causes = explanation.measured.value().causes;
  ASSERT_EQ(causes.size(), 3U);
  EXPECT_EQ(causes[0].pointer, "/workload/input");
  EXPECT_EQ(causes[0].needed, "640 samples/s a node");
  EXPECT_EQ(causes[1].pointer, "/workload/compute_time");
  EXPECT_NEAR(causes[1].factor, 48.0 / 42, 1e-4);
  EXPECT_EQ(causes[1].needed, "48 ms");
  EXPECT_NEAR(causes[2].factor, 27 / 5.004, 0.01);
  EXPECT_EQ(explanation.json()["measured"]["causes"].size(), 3U);
}

/// Where a plan cannot be held, as a policy decides, none is said to be.
TEST(Explain, AMeasuredStepSaysWhetherItsPlanIsHeld) {
  const TinyFolder folder;
  const auto held = [&](const char* schedule) {
    const auto config = load_document(
        folder.experiment(fmt::format(R"({{"strategy": {{"schedule": "{}"}}}})", schedule)), {});
    return explain(config, {.measured = from_seconds(0.050)}).measured.value().is_plan_held;
  };
  EXPECT_TRUE(held("fixed-buckets"));
  EXPECT_FALSE(held("tensor-fusion"));
  EXPECT_FALSE(held("priority"));
}

TEST(Explain, AnInterruptedOneIsAnExceptionOrWhatWasFound) {
  const TinyFolder folder;
  const auto config = load_document(folder.experiment(), {});
  std::atomic<int> told = 0;
  const OnProgress listener = [&](double) {
    if (++told > 10) throw Interrupted();
  };
  EXPECT_THROW((void)explain(config, listener), Interrupted);
  told = 0;
  const Explanation partial = explain(config, {.keeps_partial = true}, listener);
  EXPECT_TRUE(partial.is_partial);
  EXPECT_NEAR(partial.result.step_time_s, 0.044, 1e-12);
  EXPECT_TRUE(partial.text().ends_with("interrupted: what was found until then\n"));
}

/// Copies of gradients come on top of the compute time that a config names, so that it is not what
/// the step shows: 1 % more of it are about 1 % of the step, not the copies once more.
TEST(Explain, ComputeTimeIsWithoutWhatComesOnTopOfIt) {
  const Explanation explanation =
      explain(load_document((data_dir() / "configs/examples/ddp-a100.json").string(), {}));
  const double slope = elasticity(explanation, "/workload/compute_time");
  EXPECT_GT(slope, 0.8);
  EXPECT_LT(slope, 1);
}

/// All wait for the worker at half the speed of the others, so that the step has 84 ms of compute.
/// What is changed by 1 % are the 42 ms that the config's layers take.
TEST(Explain, ComputeTimeIsWithoutItsVariation) {
  const Explanation explanation =
      explained(R"({"run": {"variation": {"gpus": [{"node": 1, "speed": 0.5}]}}})");
  EXPECT_NEAR(explanation.result.compute_time_s, 0.084, 1e-12);
  std::string value = "none";
  const auto look = [&](const auto& changes) {
    for (const auto& one : changes) {
      if (one.pointer == "/workload/compute_time") value = one.value;
    }
  };
  look(explanation.elasticities);
  look(explanation.jumps);
  EXPECT_EQ(value, "42.000 ms");
}

/// What is varied is the config with its defaults written out, which has to be a config again.
TEST(Explain, EveryShippedExperimentIsOneWithItsDefaultsWrittenOut) {
  int experiments = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_dir() / "configs")) {
    if (entry.path().extension() != ".json") continue;
    auto written_out = std::make_shared<Document>(*load_document(entry.path().string(), {}));
    written_out->root.erase("sweep");
    written_out->root = resolved(written_out->root);
    EXPECT_NO_THROW(read_experiment(written_out)) << entry.path();
    ++experiments;
  }
  EXPECT_GT(experiments, 20);
}

TEST(Explain, VariesAKvstoreToo) {
  const Explanation explanation = explained(R"({"cluster": {"nodes": 1, "gpus_per_node": 4,
      "intra_node": {"type": "switch", "latency": "0 s", "bandwidth": "1 GB/s"}}, "strategy": {
      "aggregation": {"type": "kvstore", "collective": null}}})");
  EXPECT_LT(elasticity(explanation, "/cluster/intra_node/bandwidth"), 0);
  EXPECT_TRUE(explanation.fixed.empty());
}

// A layout's step is played in one go: who waits is told of each run as it begins.
TEST(Explain, TellsOfEachRunOfALayout) {
  const TinyFolder folder;
  std::vector<double> shares;
  const Explanation explanation =
      explain(load_document(folder.experiment(R"({"strategy": {"layout": {}}})"), {}),
              [&](double share) { shares.push_back(share); });
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  const auto runs = std::unique(shares.begin(), shares.end()) - shares.begin();
  // The step as it is, a quantity more and less for each that counts, and 1, 2, 4, 8 and 16 nodes.
  EXPECT_GE(runs, 1 + 2 * std::ssize(explanation.elasticities) + 5);
}

// Threads of the naive embedding may wait for each other for ever where times change by 1 %.
TEST(Explain, AChangeThatDeadlocksIsNotVaried) {
  const Explanation explanation = explain(std::make_shared<Document>(Document{"x", Json::parse(R"({
      "name": "x", "workload": {"model": "torch/vgg16", "device": "k80", "batch": 11},
      "cluster": {"preset": "dgx-1-p100", "nodes": 2},
      "strategy": {"transport": "nccl", "schedule": "wfbp",
                   "embedding": {"type": "naive", "key_order": "forward", "jitter": 0.02}}})")}));
  EXPECT_GT(explanation.result.step_time_s, 0);
  EXPECT_FALSE(explanation.elasticities.empty());
  EXPECT_TRUE(std::ranges::any_of(explanation.fixed, [](const auto& change) {
    return change.why.starts_with("deadlock after ") && change.why.find('\n') == std::string::npos;
  }));
}

TEST(Explain, WithoutCommunicationTheStepIsCompute) {
  EXPECT_EQ(explained(R"({"cluster": {"nodes": 1}})").bottleneck(),
            "compute: 100.0 % of the critical path");
}

}  // namespace
}  // namespace steptime
