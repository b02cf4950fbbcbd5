#include "sim/experiment/result_text.h"

#include "sim/core/error.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "tests/support/messages.h"
#include "tests/support/result_keys.h"
#include "tests/support/simulated.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Result, FiguresByKey) {
  const TinyFolder folder;
  const Result r = simulate(tiny_experiment(folder));
  EXPECT_EQ(figure_of(r, "step_time_s"), 0.044);
  EXPECT_EQ(figure_of(r, "workers"), 4);
  EXPECT_EQ(figure_of(r, "messages"), 3);
  EXPECT_EQ(message_of<InputError>([&] { figure_of(r, "epoch_time_s"); }),
            "\"epoch_time_s\" is not known for this run");
  EXPECT_EQ(
      message_of<InputError>([&] { figure_of(r, "step_time"); }),
      "\"step_time\" is no figure of a result (did you mean \"step_time_s\"?); known: "
      "step_time_s, compute_time_s, forward_time_s, backward_time_s, comm_busy_s, "
      "exposed_comm_s, throughput_samples_per_s, speedup, scaling_efficiency, workers, "
      "messages, epoch_time_s, cold_step_time_s, exposed_input_s, memory_bytes, tokens_per_s, "
      "tokens_per_s_per_gpu, mfu, hfu, device_memory_bytes, step_time_p50_s, step_time_p95_s, "
      "step_time_p99_s, training_time_s, training_time_p50_s, training_time_p95_s, "
      "training_time_p99_s, useful_share, checkpoint_interval_s, slowdown and 18 more");
}

// 1 - 0.9 - 0.1 is -2.8e-17 in binary, and nothing.
TEST(Result, RoundingIsNoExposedTime) {
  Result r;
  r.exposed_comm_s = 1 - 0.9 - 0.1;
  ASSERT_LT(r.exposed_comm_s, 0);
  std::string text;
  append_json(text, r);
  EXPECT_NE(text.find("\"exposed_comm_s\":0,"), std::string::npos) << text;
  r.exposed_comm_s = -1e-12;  // a picosecond, the unit of simulated time
  EXPECT_EQ(figure_of(r, "exposed_comm_s"), -1e-12);
}

TEST(FullJson, HasExactlyTheDocumentedKeys) {
  const TinyFolder folder;
  const Experiment e = tiny_experiment(folder, R"({"workload": {"dataset_samples": 1000}})");
  const Json config = Json::parse(folder.read("x.json"));
  const Json json = full_json(simulate(e), sent_buckets(e), config);
  EXPECT_EQ(keys_of(json), around_figures({}, {"epoch_time_s", "buckets", "domain", "fingerprint",
                                               "format_version", "version", "config"}));
  EXPECT_EQ(json.at("buckets").at(1), Json::parse(R"({"tensors": ["fc.w"], "bytes": 4000000,
            "ready_s": 0.02, "start_s": 0.021004, "end_s": 0.026004})"));
  EXPECT_EQ(json.at("config"), resolved(config));
  EXPECT_EQ(json.at("version"), STEPTIME_VERSION);
  EXPECT_TRUE(json.at("workers").is_number_integer());
  EXPECT_TRUE(json.at("messages").is_number_integer());
}

TEST(AppendJson, IsThatOfFullJsonWithoutBucketsAndConfig) {
  const TinyFolder folder;
  for (const char* patch : {"{}", R"({"workload": {"batch": 64, "dataset_samples": 5}})",
                            R"({"cluster": {"nodes": 10000000, "gpus_per_node": 1024,
                                "intra_node": {"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"}}})"}) {
    const Experiment e = tiny_experiment(folder, patch);
    const Result r = simulate(e);
    Json full = full_json(r, sent_buckets(e), Json::parse(folder.read("x.json")));
    full.erase("buckets");
    full.erase("config");
    std::string text = "{";
    append_json(text, r);
    EXPECT_EQ(Json::parse(text + "}"), full) << patch;
  }
}

TEST(AppendJson, HasWhereTheTimeGoesWhenThatIsKnown) {
  Result r;
  r.attribution = {{"compute", "GPU", 0.042}};
  std::string text = "{";
  append_json(text, r);
  EXPECT_EQ(Json::parse(text + "}").at("attribution"),
            Json::parse(R"([{"cause": "compute", "resource": "GPU", "seconds": 0.042}])"));
}

TEST(AppendJson, QuotesTheDomain) {
  Result r;
  r.domain.beyond = {"say \"x\"\n"};
  std::string text = "{";
  append_json(text, r);
  EXPECT_EQ(Json::parse(text + "}").at("domain").at("beyond").at(0), r.domain.beyond[0]);
}

TEST(AppendJson, WritesTheFingerprintAsSixteenDigits) {
  Result r;
  r.fingerprint = 0xab;
  std::string text;
  append_json(text, r);
  EXPECT_NE(text.find("\"fingerprint\":\"00000000000000ab\""), std::string::npos) << text;
}

TEST(CsvCells, OnePerColumnAndEmptyWhereThereIsNoValue) {
  const TinyFolder folder;
  const Result result = simulate(tiny_experiment(folder));
  const std::vector<std::string> cells = csv_cells(result);
  const auto columns = csv_columns();
  ASSERT_EQ(cells.size(), columns.size());
  const auto cell = [&](std::string_view name) {
    const auto found = std::find_if(columns.begin(), columns.end(),
                                    [&](const Column& column) { return column.name == name; });
    return cells.at(static_cast<std::size_t>(found - columns.begin()));
  };
  EXPECT_EQ(std::stod(cell("step_time_low_s")), result.step_time_interval_s.low);
  EXPECT_EQ(std::stod(cell("step_time_high_s")), result.step_time_interval_s.high);
  EXPECT_DOUBLE_EQ(std::stod(cell("throughput_low_samples_per_s")),
                   4 * 32 / result.step_time_interval_s.high);
  EXPECT_EQ(cell("step_time_s"), "0.044");
  EXPECT_EQ(cell("workers"), "4");
  EXPECT_EQ(cell("epoch_time_s"), "");
  EXPECT_TRUE(cell("domain").starts_with("unvalidated: no measured steps of its kind"));
  EXPECT_EQ(cell("version"), STEPTIME_VERSION);
  EXPECT_EQ(cell("fingerprint").size(), 16U);
}

}  // namespace
}  // namespace steptime
