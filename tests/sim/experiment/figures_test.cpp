// Does each figure stand once, and at the same place wherever it is shown?
#include "sim/experiment/figures.h"

#include "tests/support/simulated.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Figures, EachStandsOnceWithItsHelpAndItsWayToBeComputed) {
  std::set<std::string_view> keys;
  for (const Figure& f : figures()) {
    EXPECT_TRUE(keys.insert(f.key).second) << f.key;
    EXPECT_FALSE(f.help.empty()) << f.key;
    EXPECT_EQ((f.number != nullptr) + (f.integer != nullptr) + (f.interval != nullptr) +
                  (f.text != nullptr || f.raw != nullptr) + (f.list != nullptr),
              1)
        << f.key;
    if (f.key.ends_with("_s")) {
      EXPECT_TRUE(f.unit == "s" || f.unit == "samples/s" || f.unit == "tokens/s") << f.key;
    }
  }
}

/// In the order of the object.
std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, unused] : object.items())
    keys.push_back(key);
  return keys;
}

// A run that only steps, one in an engine, and one with servers that learns.
constexpr const char* kRuns[] = {
    "{}", R"({"strategy": {"embedding": {"type": "depcha"}}})",
    R"({"strategy": {"aggregation": {"type": "parameter-server", "servers": 2, "collective": null}},
        "run": {"convergence": {"problem": {"type": "quadratic", "samples": 64}, "epochs": 2,
                                "learning_rate": 0.1, "batch": 2}}})"};

TEST(Figures, RunAndSweepHaveThemAtTheSamePlace) {
  const TinyFolder folder;
  for (const char* patch : kRuns) {
    const std::string file = folder.experiment(patch);
    const Json run = Json::parse(steptime({"run", file, "--format", "json"}).out);
    const Json full = Json::parse(steptime({"sweep", file, "--format", "jsonl", "--full"}).out);
    const Json row = Json::parse(steptime({"sweep", file, "--format", "jsonl"}).out);
    std::vector<std::string> expected{"point", "params"};
    std::vector<std::string> without_details = expected;
    for (const Figure& f : figures()) {
      if (!run.contains(f.key) || f.key == "inputs") continue;  // of `run` only
      expected.emplace_back(f.key);
      EXPECT_EQ(full.at(std::string(f.key)), run.at(std::string(f.key))) << f.key;
      constexpr std::string_view kDetails[] = {"buckets", "attribution", "config", "training"};
      if (std::ranges::find(kDetails, f.key) != std::end(kDetails)) continue;
      without_details.emplace_back(f.key);
    }
    EXPECT_EQ(expected.size(), run.size() + 2 - 1) << patch;
    EXPECT_EQ(run.at("inputs").size(), 2U) << patch;  // trace, record of measurements
    EXPECT_EQ(keys_of(full), expected) << patch;
    EXPECT_EQ(keys_of(row), without_details) << patch;
  }
}

TEST(Figures, EngineFiguresStandAtTopLevel) {
  // Funnel hides nothing: what is exposed is the sum of the all-reduces, 8.004 ms.
  const TinyFolder folder;
  const Json run = Json::parse(
      steptime({"run", folder.experiment(R"({"strategy": {"embedding": {"type": "funnel"}}})"),
                "--format", "json"})
          .out);
  EXPECT_EQ(run.at("hidden_under_backward_s"), 0);
  EXPECT_EQ(run.at("exposed_s"), 0.008004);
  EXPECT_EQ(run.at("gpu_waits").at(0).at("for"), run.at("longest_gpu_wait_for"));
  EXPECT_EQ(run.at("gpu_waits").at(0).at("seconds"), run.at("longest_gpu_wait_s"));
  EXPECT_TRUE(run.at("simulated_steps").is_number_integer());
}

TEST(Figures, AttributionAddsUpToTheStep) {
  // Forward 15, backward 27 to the end of conv's, whose all-reduce is 1 ms and 1 MB at 1 ns a byte.
  const TinyFolder folder;
  const Json run = Json::parse(steptime({"run", folder.experiment(), "--format", "json"}).out);
  EXPECT_EQ(run.at("attribution"), Json::parse(R"([
    {"cause": "backward pass", "resource": "GPU", "seconds": 0.027},
    {"cause": "forward pass", "resource": "GPU", "seconds": 0.015},
    {"cause": "start-up of collectives", "resource": "measured line", "seconds": 0.001},
    {"cause": "collectives", "resource": "known by their time only", "seconds": 0.001}])"));
}

TEST(Figures, AnEngineKnowsWhatFirstStepsTakeLonger) {
  Result r;
  EXPECT_EQ(shown({"transient_s", "transient", 1e3, 3}, r), "");
  for (const auto& [transient, text] : {std::pair(0, "0.000"), std::pair(2, "2.000")}) {
    auto step = std::make_shared<EmbeddedStep>();
    step->attribution.transient = std::chrono::milliseconds(transient);
    r.embedded = step;
    EXPECT_EQ(shown({"transient_s", "transient", 1e3, 3}, r), text);
  }
}

TEST(Shown, ScalesRoundsAndSaysNever) {
  Result r;
  r.step_time_s = 0.0123456;
  EXPECT_EQ(shown({"step_time_s", "step", 1e3, 3, " ms"}, r), "12.346 ms");
  EXPECT_EQ(shown({"workers", "workers"}, r), "0");
  EXPECT_EQ(shown({"domain", "domain"}, r), "unvalidated");
  EXPECT_EQ(shown({"time_to_target_s", "target", 1, 1}, r), "");
  r.training = std::make_shared<TrainingOutcome>(
      TrainingOutcome{.seeds = {1}, .runs = {TrainingTimes{}}, .learns = true, .target = 1});
  EXPECT_EQ(shown({"time_to_target_s", "target", 1, 1}, r), "never");
}

}  // namespace
}  // namespace steptime
