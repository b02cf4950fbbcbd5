// A profile as a preset and as a collective, up to the interval of a run's step time.
#include "sim/collective/profile.h"

#include "tests/support/tiny_experiment.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// An all-reduce of 4 ranks takes 1 ms + 1 ns/B, +-10 %.
std::string profile() {
  const MeasuredOperations operations{
      {"all-reduce",
       {4, 12, "rounds", {{{4, 1.000004e-3, 0.9e-3, 1.1e-3}, {8e6, 9e-3, 8.1e-3, 9.9e-3}}}}}};
  return Json{{"format", "steptime-cluster"},
              {"version", 1},
              {"help", "mine"},
              {"sources", Json::object()},
              {"provenance", {{"source", "me"}}},
              {"cluster",
               {{"nodes", 4},
                {"network", {{"type", "switch"}, {"latency", "9 us"}, {"bandwidth", "1 GB/s"}}}}},
              {"operations", operations_json(operations)}}
      .dump();
}

constexpr const char* kPatch = R"({
  "cluster": {"preset": "mine.json", "nodes": NODES, "network": null},
  "strategy": {"aggregation": {"collective": {"type": "profile", "a": null, "b": null}}}})";

std::string patch(const std::string& nodes) {
  std::string text = kPatch;
  return text.replace(text.find("NODES"), 5, nodes);
}

// The tiny experiment: its step of 44 ms ends with 1 MB after 42 ms of compute, 2 ms +-10 %; the
// interval goes straight from 4 B to 8 MB: low 0.9 + 7.2 x (1e6 - 4) / (8e6 - 4) = 1.8 ms.
TEST(Profile, GivesAPresetAndAnIntervalOfTheStep) {
  const TinyFolder folder;
  folder.write("mine.json", profile());
  const std::string config = folder.experiment(patch("4"));
  const Outcome run = steptime({"run", config, "--format", "json"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const Json result = Json::parse(run.out);
  EXPECT_NEAR(result.at("step_time_s"), 0.044, 1e-9);
  // It spans what is known of such runs, too.
  EXPECT_LT(result.at("step_time_interval_s").at(0), 0.0438);
  EXPECT_GT(result.at("step_time_interval_s").at(1), 0.0442);
  // 4 workers x 32 samples
  EXPECT_NEAR(result.at("throughput_interval_samples_per_s").at(0).get<double>(),
              128 / result.at("step_time_interval_s").at(1).get<double>(), 1e-9);
  EXPECT_EQ(result.at("interval_from"), "both");
  EXPECT_EQ(result.at("domain").at("status"), "unvalidated");
  const Outcome table = steptime({"run", config});
  EXPECT_NE(table.out.find("43.800 to 44.200 by the profile's 95 % intervals"), std::string::npos)
      << table.out;
  const Json row = Json::parse(steptime({"sweep", config, "--format", "jsonl"}).out);
  EXPECT_EQ(row.at("step_time_interval_s"), result.at("step_time_interval_s"));
}

TEST(Profile, IsOfAsManyRanksAsWereMeasured) {
  const TinyFolder folder;
  folder.write("mine.json", profile());
  const Outcome run = steptime({"run", folder.experiment(patch("8"))});
  EXPECT_EQ(run.exit, 2);
  EXPECT_NE(run.err.find("/strategy/aggregation/collective/operation: "), std::string::npos);
  EXPECT_NE(run.err.find("mine.json was measured on 4 ranks, the cluster has 8 workers"),
            std::string::npos)
      << run.err;
}

TEST(Profile, NeedsAFileOrAPresetWithOperations) {
  const TinyFolder folder;
  const Outcome run = steptime({"run", folder.experiment(R"({
    "strategy": {"aggregation": {"collective": {"type": "profile", "a": null, "b": null}}}})")});
  EXPECT_EQ(run.err, "steptime: " + folder.path("x.json") +
                         ": /strategy/aggregation/collective/file: required but missing: the "
                         "cluster's preset has no measured operations\n");
}

}  // namespace
}  // namespace steptime
