#include "sim/experiment/runs/layout_run.h"

#include "models/transformer.h"
#include "sim/config/input_files.h"
#include "sim/config/json.h"
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

// Figure 1 of 2205.05198 is of the layers of the first stage; what is played holds more beside
// them: for each micro-batch in flight 8 + h bytes a token of the embedding, h / t of them with
// sequence parallelism, 1 of them without a pipeline, p with 1f1b, and with chunks the 2 p that
// chunk 0 has made when p are back; and 18 bytes for each parameter of the embedding, (V / t + s)
// h, and of biases and norms, 7 h / t + 6 h a layer. Where attention is computed again its scores
// and dropouts, 5 a s / t bytes a token, are there of one layer more. Without a pipeline the norm
// behind the layers is there, too: 2 h parameters, its inputs and results of 4 h bytes a token.
TEST(LayoutRun, HoldsAtItsPeakWhatFigure1Says) {
  const std::string file = STEPTIME_TESTS_DIR "/models/transformer_memory.json";
  const Json rows = parse_json(read_file(file), file).at("figure_1");
  ASSERT_EQ(rows.size(), 12u);
  for (const Json& row : rows) {
    const auto of = [&](const char* key) { return row.at(key).get<std::int64_t>(); };
    const std::int64_t t = of("tensor"), p = of("pipeline"), v = of("chunks");
    const bool splits_sequence = row.value("sequence_parallel", false);
    const TinyFolder folder;
    folder.write(
        "x.json",
        fmt::format(
            R"({{
      "name": "x",
      "workload": {{"model": "{}", "device": "a100", "batch": {}, "sequence": {},
                    "accumulate": {}, "precision": "float16", "dtype": "float32",
                    "optimizer": "adam", "attention": "unfused"}},
      "cluster": {{"nodes": {}, "gpus_per_node": {},
                   "network": {{"type": "switch", "latency": "5 us", "bandwidth": "25 GB/s"}},
                   "intra_node": {{"type": "switch", "latency": "1 us",
                                   "bandwidth": "250 GB/s"}}}},
      "strategy": {{"layout": {{"tensor": {}, "pipeline": {}, "sequence_parallel": {}}},
                    "recompute": "{}", "pipeline_order": {}}}}})",
            row.at("shape").get<std::string>(), of("batch"), of("sequence"), 2 * p, p, t, t, p,
            splits_sequence, row.value("recompute", std::string("none")),
            v > 1 ? fmt::format(R"({{"type": "interleaved", "chunks": {}}})", v) : R"("1f1b")"));
    const Result r = simulate(read_experiment(load_document(folder.path("x.json"), {})));
    const RankMemory::Parts& played = r.layout->times.ranks[0].at_peak;
    const auto held = [&](HeldFor what) { return played[static_cast<std::size_t>(what)]; };
    const TransformerShape shape =
        read_transformer(find_transformer(row.at("shape").get<std::string>()));
    const std::int64_t h = shape.hidden;
    const double gib = std::pow(2.0, 30);
    if (row.at("quantity") == "state") {
      const std::int64_t beside = (shape.vocabulary / t + shape.positions) * h +
                                  shape.layers / p * (7 * h / t + 6 * h) + (p == 1 ? 2 * h : 0);
      const std::int64_t states = held(HeldFor::kWeights) + held(HeldFor::kGradients) +
                                  held(HeldFor::kOptimizer) - 18 * beside;
      EXPECT_NEAR(static_cast<double>(states) / gib, row.at("gib"),
                  1e-6 * row.at("gib").get<double>())
          << row.dump();
      continue;
    }
    const std::int64_t tokens = of("batch") * of("sequence");
    const std::int64_t in_flight = p == 1 ? 1 : v == 1 ? p : 2 * p;
    const std::int64_t ends =
        (in_flight * (8 + h) + (p == 1 ? 4 * h : 0)) * tokens / (splits_sequence ? t : 1);
    const std::int64_t again =
        row.at("recompute") == "selective" ? 5 * shape.heads * of("sequence") / t * tokens : 0;
    EXPECT_NEAR(static_cast<double>(held(HeldFor::kActivations) - ends - again) / gib,
                row.at("gib"), 1e-6 * row.at("gib").get<double>())
        << row.dump();
  }
}

// Four groups of replicas, 0 4 8 12, 1 5 9 13, ..., with two GPUs in each of two nodes, that sum M
// bytes each at once, of which at least M leaves each node: half of the sum of its values, and half
// of the result. Each group has the two adapters of 50 GB/s that its GPUs are nearest to: it takes
// no less than M through these, and no more than M through one of them. Through all eight adapters
// of a node it would take a quarter of the former.
TEST(LayoutRun, GroupsOfANodeHaveTheirOwnAdaptersAndNoMore) {
  const TinyFolder folder;
  folder.write("x.json", R"({
    "name": "x",
    "workload": {"model": "gpt-1.7b", "device": "h100", "batch": 1, "sequence": 1024,
                 "precision": "bfloat16", "dtype": "float32", "optimizer": "adam"},
    "cluster": {"preset": "dgx-h100", "nodes": 2, "gpus_per_node": 8},
    "strategy": {"layout": {"tensor": 4}, "beside_compute": [], "schedule": "sync-easgd",
                 "aggregation": {"type": "all-reduce", "collective": {"type": "nccl"}}}})");
  const Result r = simulate(read_experiment(load_document(folder.path("x.json"), {})));
  const StageTimes& rank = r.layout->times.ranks[0];
  const auto seconds = to_seconds(rank.spent[static_cast<std::size_t>(Spent::kGradients)]);
  const auto bytes = static_cast<double>(rank.bytes[static_cast<std::size_t>(GroupKind::kShards)]);
  ASSERT_GT(bytes, 1e9);
  EXPECT_GE(seconds, bytes / (2 * 50e9));
  EXPECT_LE(seconds, bytes / 50e9);
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
