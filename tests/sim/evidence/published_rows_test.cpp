// Rows of published training runs: their operations, step times, and what they are as experiments.
#include "sim/evidence/published_rows.h"

#include "sim/core/error.h"
#include "sim/evidence/claim_keys.h"
#include "tests/support/scratch_file.h"

#include <memory>
#include <string>
#include <variant>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

// 145B of 2104.04473 table 1: 80 layers, h 12,288, V 51,200, 2,304 samples of 2,048 tokens. The
// paper's own equation: 96 B s l h^2 (1 + s/6h + V/16 l h).
TEST(StepFlops, HardwareOperationsAreThePapersEquation) {
  const Json model{
      {"layers", 80}, {"hidden", 12'288}, {"heads", 96}, {"ffn", 49'152}, {"vocab", 51'200}};
  const double l = 80;
  const double h = 12'288;
  const double s = 2048;
  const double paper = 96 * 2304 * s * l * h * h * (1 + s / (6 * h) + 51'200 / (16 * l * h));
  EXPECT_NEAR(step_flops(model, 2304, s, FlopsCount::kHardware) / paper, 1, 1e-12);
  // Model operations of 2205.05198: 72 B s l h^2 (1 + s/6h + V/12 l h).
  const double whole = 72 * 2304 * s * l * h * h * (1 + s / (6 * h) + 51'200 / (12 * l * h));
  EXPECT_NEAR(step_flops(model, 2304, s, FlopsCount::kWhole) / whole, 1, 1e-12);
  // Half of attention: 3 passes less of 2 s h a token and layer.
  const double half = 3 * 2304 * s * l * 2 * s * h;
  EXPECT_NEAR(step_flops(model, 2304, s, FlopsCount::kMasked) / (whole - half), 1, 1e-12);
}

// Llama 3.1 8B: queries 4,096, keys and values 1,024 each, three products of 14,336.
TEST(StepFlops, GatedAndSharedKeys) {
  const Json model{{"layers", 1},   {"hidden", 4096}, {"heads", 32},      {"kv_heads", 8},
                   {"ffn", 14'336}, {"vocab", 1},     {"gated_mlp", true}};
  const double layer = 2.0 * 4096 * (2 * 4096 + 2 * 1024 + 3 * 14'336) + 4 * 4096 * 100.0 / 2;
  EXPECT_DOUBLE_EQ(step_flops(model, 1, 100, FlopsCount::kMasked), 100 * 3 * (layer + 2 * 4096));
}

constexpr const char* kRow =
    R"({{"id": "r", "group": "g", "hardware": "box", "metric": "{}", "value": {}, "N": 16,
        "source": "s", "kind": "{}",
        "model": {{"name": "m", "layers": {}, "hidden": 512, "heads": 8, "ffn": 2048,
                   "vocab": 1000{}}},
        "parallelism": {{"dp": 1, "tp": 2, "pp": 8, "vp": 4, "cp": 1, "zero": 1, "micro_batch": 1,
                         "global_batch": 32, "seq": 128, "precision": "bf16"}}}})";

/// On one line.
std::string joined(const std::string& row) {
  return Json::parse(row).dump() + "\n";
}

struct Mapped {
  explicit Mapped(const std::string& row) : rows("rows.jsonl", joined(row)) {
    const Json mapping{
        {"file", rows.path()},
        {"models", {{"plain", {{"model", "gpt3-175b"}, {"positions", "sequence"}}}}},
        {"hardware",
         {{"box",
           {{"family", "A100"}, {"gpus_per_node", 8}, {"set", {{"/workload/device", "a100"}}}}}}},
        {"precisions",
         {{"bf16", {{"family", "16-bit"}, {"set", {{"/workload/precision", "bfloat16"}}}}}}},
        {"by", {{"zero", {{"1", {{"/strategy/states", {{"type", "zero"}, {"stage", 1}}}}}}}}},
        {"chunks", {{"type", "interleaved"}}},
        {"recomputed_layers", {{"type", "full"}}},
        {"groups", {{"g", {{"stack", "megatron-core"}, {"sequence_parallel", true}}}}}};
    const auto document = std::make_shared<Document>(Document{"x.json", mapping});
    made = RowMapping(Json{{"name", "x"}, {"cluster", Json::object()}},
                      Config(document, rows_params()))
               .experiment(Json::parse(row));
  }
  ScratchFile rows;
  std::variant<RowExperiment, LeftOut> made;
};

// 32 samples of 128 tokens over 16 GPUs at 64 tokens a second each: 4 s.
TEST(RowMapping, ARowIsAnExperimentAndAStepTime) {
  const Mapped row(fmt::format(fmt::runtime(kRow), "tokens_per_s_per_gpu", 64, "measured", 64, ""));
  const auto& made = std::get<RowExperiment>(row.made);
  EXPECT_DOUBLE_EQ(made.published, 4);
  EXPECT_EQ(made.family, "below 32 GPUs");
  EXPECT_FALSE(made.is_bound);
  const Json& config = made.config;
  EXPECT_EQ(config["cluster"]["nodes"], 2);
  EXPECT_EQ(config["workload"]["shape"]["positions"], 128);
  EXPECT_EQ(config["strategy"]["layout"]["sequence_parallel"], true);
  EXPECT_EQ(config["strategy"]["pipeline_order"]["chunks"], 4);
  EXPECT_FALSE(config["strategy"]["layout"].contains("stages"));
  EXPECT_EQ(config["strategy"]["states"]["stage"], 1);
}

// 62 layers and 2 for embedding and loss in 32 stages: 2 each, 1 in the first and in the last.
TEST(RowMapping, EmbeddingAndLossCountAsLayers) {
  const Mapped row(fmt::format(fmt::runtime(kRow), "step_time_s", 3, "text", 62, ""));
  const auto& made = std::get<RowExperiment>(row.made);
  EXPECT_TRUE(made.is_bound);
  const Json& stages = made.config["strategy"]["layout"]["stages"];
  EXPECT_EQ(stages.size(), 32U);
  EXPECT_EQ(stages.front(), 1);
  EXPECT_EQ(stages[1], 2);
  EXPECT_EQ(stages.back(), 1);
}

TEST(RowMapping, ExpertsAreLeftOut) {
  const Mapped row(
      fmt::format(fmt::runtime(kRow), "step_time_s", 3, "measured", 64, R"(, "moe": "8 experts")"));
  const auto& out = std::get<LeftOut>(row.made);
  EXPECT_EQ(out.reason, "experts are not simulated");
  EXPECT_FALSE(out.counts);
}

// Whoever ran it says that the host's memory held a part, which no config can say.
TEST(RowMapping, OffloadIsLeftOutWithWhatWasOffloaded) {
  Json stated = Json::parse(fmt::format(fmt::runtime(kRow), "step_time_s", 3, "measured", 64, ""));
  stated["parallelism"]["offload"] = "activations of 95 layers (a recipe)";
  const Mapped row(stated.dump());
  const auto& out = std::get<LeftOut>(row.made);
  EXPECT_EQ(out.reason,
            "the host's memory is not simulated, which holds activations of 95 layers (a recipe)");
  EXPECT_FALSE(out.counts);
}

TEST(RowMapping, WhatIsNoRowIsToldWithItsLine) {
  const ScratchFile rows("rows.jsonl", "{\"id\": \"r\"}\n");
  const Json empty = Json::object();
  const Json mapping{{"file", rows.path()}, {"models", empty},           {"hardware", empty},
                     {"precisions", empty}, {"groups", empty},           {"by", empty},
                     {"chunks", empty},     {"recomputed_layers", empty}};
  std::string error;
  try {
    const auto document = std::make_shared<Document>(Document{"x.json", mapping});
    const RowMapping read(empty, Config(document, rows_params()));
  } catch (const InputError& e) {
    error = e.what();
  }
  EXPECT_EQ(error, rows.path() +
                       ": line 1: expected a row with \"group\", got \"{\\\"id\\\": \\\"r\\\"}\"");
}

TEST(FittedRows, EachIsOneOfTheShippedRows) {
  EXPECT_EQ(fitted_rows().at("sc21-t1-7.5B"), "float16 of transformers on a100");
}

}  // namespace
}  // namespace steptime
