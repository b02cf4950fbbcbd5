#include "sim/experiment/runs/layout_run.h"

#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result_text.h"
#include "sim/layouts/play.h"
#include "tests/support/simulated.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// GPT of 1.7 billion parameters on two nodes of four GPUs: 2 tensor x 2 pipeline ranks, a replica
/// on each node.
Result run(const std::string& strategy = "", const std::string& layout = "",
           std::vector<SentBucket>* buckets = nullptr, int nodes = 2) {
  const TinyFolder folder;
  folder.write("x.json", fmt::format(R"({{
    "name": "x",
    "workload": {{"model": "gpt-1.7b", "device": "a100", "batch": 2, "sequence": 1024,
                  "accumulate": 4, "precision": "float16", "optimizer": "adam",
                  "dataset_samples": 1600}},
    "cluster": {{"nodes": {}, "gpus_per_node": 4,
                 "network": {{"type": "switch", "latency": "5 us", "bandwidth": "25 GB/s"}},
                 "intra_node": {{"type": "switch", "latency": "1 us", "bandwidth": "250 GB/s"}}}},
    "strategy": {{"layout": {{"tensor": 2, "pipeline": 2{}}}{}}}}})",
                                     nodes, layout, strategy));
  return simulate(read_experiment(load_document(folder.path("x.json"), {})), buckets);
}

// Two replicas of 4 x 2 samples of 1,024 tokens; 100 steps of 16 samples are an epoch.
TEST(LayoutRun, CountsReplicasNotWorkers) {
  const Result r = run();
  EXPECT_EQ(r.workers, 8);
  EXPECT_DOUBLE_EQ(r.throughput_samples_per_s * r.step_time_s, 16);
  EXPECT_DOUBLE_EQ(figure_of(r, "tokens_per_s"), r.throughput_samples_per_s * 1024);
  EXPECT_DOUBLE_EQ(figure_of(r, "tokens_per_s_per_gpu") * 8, figure_of(r, "tokens_per_s"));
  EXPECT_DOUBLE_EQ(*r.epoch_time_s, 100 * r.step_time_s);
  EXPECT_LE(r.speedup, 2);
  EXPECT_GT(figure_of(r, "mfu"), 0);
  EXPECT_DOUBLE_EQ(figure_of(r, "mfu"), figure_of(r, "hfu"));  // nothing is computed again
  EXPECT_LT(figure_of(r, "mfu"), figure_of(run(R"(, "recompute": "full")"), "hfu") * 2);
}

// A replica a node, so that on one of them there is one alone: 33.1 samples a second, whatever its
// states. Where nothing is waited for (gradients are summed up beside the backward pass), ZeRO's
// two update half of the parameters each, and together make more than twice as many samples.
TEST(LayoutRun, SpeedupIsOverOneReplicaAlone) {
  const char* const outermost = R"(, "order": "tensor-context-pipeline-data")";
  const Result alone = run("", outermost, nullptr, 1);
  EXPECT_EQ(alone.speedup, 1);
  EXPECT_EQ(alone.scaling_efficiency, 1);
  for (const char* states : {"replicated", "zero", "fsdp"}) {
    const Result two = run(fmt::format(R"(, "states": "{}")", states), outermost);
    EXPECT_DOUBLE_EQ(two.speedup, two.throughput_samples_per_s / alone.throughput_samples_per_s);
    EXPECT_DOUBLE_EQ(two.scaling_efficiency, two.speedup / 2);
  }
  EXPECT_LT(run().scaling_efficiency, 1);
  EXPECT_GT(run(R"(, "states": "zero")").scaling_efficiency, 1);
}

TEST(LayoutRun, AttributionAddsUpToTheStepOnEveryRank) {
  const Result r = run(R"(, "states": "zero", "recompute": "full")");
  double sum = 0;
  for (const Cause& cause : r.attribution)
    sum += cause.seconds;
  EXPECT_NEAR(sum, r.step_time_s, 1e-15 * std::abs(sum) + 1e-12);
  for (const StageTimes& rank : r.layout->times.ranks) {
    Duration all{};
    for (const Duration spent : rank.spent)
      all += spent;
    EXPECT_EQ(all, r.layout->times.step);
  }
}

TEST(LayoutRun, MemoryIsThatOfTheFullestRank) {
  const Result r = run(R"(, "states": "zero")");
  ASSERT_TRUE(r.memory);
  EXPECT_EQ(r.memory->total().count, r.layout->times.ranks[r.layout->times.fullest()].peak);
  EXPECT_TRUE(r.layout->fits());
  const Result whole = run();
  EXPECT_GT(whole.memory->optimizer.count, r.memory->optimizer.count);
}

TEST(LayoutRun, IsNotValidatedByAnyMeasurement) {
  const Result r = run();
  EXPECT_FALSE(r.domain.is_validated());
  const std::vector<std::string>& beyond = r.domain.beyond;
  EXPECT_TRUE(std::any_of(beyond.begin(), beyond.end(), [](const std::string& reason) {
    return reason.starts_with("published steps of layouts are up to ");
  }));
}

TEST(LayoutRun, TheSameExperimentGivesTheSameBytes) {
  std::string first, second;
  append_json(first, run());
  append_json(second, run());
  EXPECT_EQ(first, second);
  EXPECT_NE(first.find(R"("fits":true)"), std::string::npos);
}

}  // namespace
}  // namespace steptime
