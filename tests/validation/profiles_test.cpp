// Does a step on an imported profile take as long as the same step takes without the profiler?
// Nothing of these rows is fitted. Prints the error of each step.
#include "sim/config/data_dir.h"
#include "sim/config/json.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result.h"
#include "sim/experiment/simulate.h"
#include "sim/workload/importer.h"
#include "tests/support/config_text.h"
#include "tests/support/scratch_file.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// On one GPU; `row`: of traces/h200/profiles.jsonl.
Result step_of(const Json& row, const std::string& profile) {
  const ImportRequest request{
      .file = profile,
      .paths = {profile},
      .model = row.at("network"),
      .device = "H200",
      .batch = row.at("batch"),
      .layer_table = "",
      .provenance = Json{{"source", "a test"}, {"date", "2026"}, {"licence", "none"}}};
  const ScratchFile trace(
      "trace.json",
      write_trace(make<Importer>(R"({"type": "kineto"})")->import(request).trace.value()));
  return simulate(read_experiment(std::make_shared<Document>(Document{
      "x.json", Json{{"name", "x"},
                     {"workload", {{"trace", trace.path()}}},
                     {"cluster", {{"preset", "dgx-h100"}, {"nodes", 1}, {"gpus_per_node", 1}}},
                     {"strategy", {{"schedule", "wfbp"}}}}})));
}

// The host needed less time than the step in some, where the GPU waited for nobody: those are
// within 2 %. In the others it needed all of it, and the interval says that they may take longer.
TEST(ProfiledSteps, TakeWhatTheyTakeWithoutTheProfiler) {
  std::ifstream file(data_dir() / "traces" / "h200" / "profiles.jsonl");
  std::string line;
  std::getline(file, line);  // says where the rows come from
  int rows = 0;
  int rows_of_gpu = 0;
  while (std::getline(file, line)) {
    const Json row = Json::parse(line);
    const std::string profile =
        std::string(STEPTIME_TESTS_DIR "/data/imports/h200-") + row.at("trace").get<std::string>();
    if (!std::filesystem::exists(profile)) continue;
    const auto measured = row.at("step_s").get<double>();
    const auto host = row.at("host_s").get<double>();
    const Result step = step_of(row, profile);
    const double error = step.step_time_s / measured - 1;
    fmt::print(
        "{:12s} {:10s} batch {:3d}: {:6.2f} ms measured, {:+6.1f} %, at most {:.1f} ms; "
        "host {:.1f} ms\n",
        row.at("network").get<std::string>(), row.at("precision").get<std::string>(),
        row.at("batch").get<int>(), measured * 1e3, error * 100,
        step.step_time_interval_s.high * 1e3, host * 1e3);
    ++rows;
    EXPECT_LE(step.step_time_interval_s.low, measured);
    EXPECT_GE(step.step_time_interval_s.high, measured);
    if (host > 0.95 * measured) continue;
    ++rows_of_gpu;
    EXPECT_NEAR(error, 0, 0.02);
  }
  EXPECT_EQ(rows, 6);
  EXPECT_EQ(rows_of_gpu, 3);
}

}  // namespace
}  // namespace steptime
