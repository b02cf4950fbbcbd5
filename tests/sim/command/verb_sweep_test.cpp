#include "sim/experiment/overrides.h"
#include "sim/sweeps/run_sweep.h"
#include "tests/support/result_keys.h"
#include "tests/support/tiny_experiment.h"

#include <atomic>
#include <filesystem>
#include <ostream>
#include <streambuf>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kSweep = R"({"sweep": {"/cluster/nodes": [1, 4],
    "/strategy/schedule/type": ["wfbp", "naive"]}})";

/// Without the line below a table that says how many of its points nobody has measured.
std::string without_domain(const std::string& out) {
  const auto line = out.find(" points are not validated by measurements");
  return line == std::string::npos ? out : out.substr(0, out.rfind("\n\n", line) + 1);
}

TEST(VerbSweep, TableIsTheDefault) {
  // One worker takes 42 ms and 32 / 0.042 = 761.9 samples/s; four with WFBP 44 ms and
  // 128 / 0.044 = 2909.1; naive 42 + 8.004 = 50.004 ms, 128 / 0.050004 = 2559.8, and
  // 4 * 42 / 50.004 = 3.36.
  const TinyFolder folder;
  const Outcome sweep = steptime({"sweep", folder.experiment(kSweep)});
  EXPECT_EQ(sweep.exit, 0);
  EXPECT_EQ(sweep.err, "");
  EXPECT_EQ(without_domain(sweep.out),
            "nodes  schedule  step ms  exposed ms  messages  samples/s  speedup  efficiency %\n"
            "-----  --------  -------  ----------  --------  ---------  -------  ------------\n"
            "    1  wfbp       42.000       0.000         0      761.9     1.00         100.0\n"
            "    1  naive      42.000       0.000         0      761.9     1.00         100.0\n"
            "    4  wfbp       44.000       2.000         3     2909.1     3.82          95.5\n"
            "    4  naive      50.004       8.004         3     2559.8     3.36          84.0\n");
}

TEST(VerbSweep, ATableOfJobsSaysThatItIsOfTheFirst) {
  const TinyFolder folder;
  const std::string file = folder.experiment(R"({"strategy": {"aggregation": {
      "collective": {"type": "ring", "a": null, "b": null}}}, "run": {"fidelity": "message"},
      "jobs": [{"nodes": [0, 1]}, {"nodes": [2, 3]}], "sweep": {"/jobs/1/start": ["0 s", "1 s"]}})");
  for (const char* format : {"table", "csv"}) {
    EXPECT_EQ(steptime({"sweep", file, "--format", format}).err,
              "note: the rows are the first job's; all 2 stand under \"jobs\" in --format json\n");
  }
  EXPECT_EQ(steptime({"sweep", file, "--format", "jsonl"}).err, "");
}

TEST(VerbSweep, RunsThatLearnShowAccuracyAndTheTimeToTheTarget) {
  // The bowl starts at accuracy 1 / (1 + loss) < 0.9, and cannot learn with a rate of 0.
  const TinyFolder folder;
  const std::string file = folder.experiment(R"({
      "workload": {"dataset_samples": 640},
      "run": {"convergence": {"problem": {"type": "quadratic", "samples": 64}, "epochs": 8,
                              "batch": 2, "learning_rate": 0.1, "seeds": 2}},
      "sweep": {"/run/convergence/learning_rate": [0, 0.1]}})");
  const Outcome sweep = steptime({"sweep", file});
  EXPECT_EQ(sweep.exit, 0) << sweep.err;
  const std::vector<std::string> lines = lines_of(without_domain(sweep.out));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_TRUE(lines[0].ends_with("  epoch s  accuracy %  target s  fastest s  slowest s"))
      << lines[0];
  EXPECT_NE(lines[2].find("never"), std::string::npos) << lines[2];
  EXPECT_EQ(lines[3].find("never"), std::string::npos) << lines[3];
  // An epoch is 640 / (4 x 32) = 5 steps of 44 ms: 0.2 s.
  EXPECT_NE(lines[2].find("  0.2  "), std::string::npos) << lines[2];
  // The same accuracy in CSV.
  const std::vector<std::string> csv = lines_of(steptime({"sweep", file, "--format", "csv"}).out);
  const Json json = Json::parse(lines_of(steptime({"sweep", file, "--format", "jsonl"}).out)[1]);
  EXPECT_NE(csv[2].find(json.at("final_accuracy").dump()), std::string::npos) << csv[2];
}

TEST(VerbSweep, CsvHasTheAttributionOfAnEngine) {
  // Funnel hides nothing: what is exposed is the sum of the all-reduces, 8.004 ms.
  const TinyFolder folder;
  const Outcome sweep =
      steptime({"sweep", "--format", "csv", folder.experiment(R"({"strategy": {"embedding":
                                      {"type": "funnel"}}})")});
  const std::vector<std::string> lines = lines_of(sweep.out);
  ASSERT_EQ(lines.size(), 2U) << sweep.err;
  EXPECT_NE(lines[1].find(",,,,,,,0,0,0.008004,"), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find("\"the main thread, which pushes the segment\""), std::string::npos)
      << lines[1];
}

TEST(VerbSweep, JsonLinesHaveTheKeysOfARunAndThePoint) {
  const TinyFolder folder;
  const std::string file = folder.experiment(kSweep);
  const Outcome sweep = steptime({"sweep", file, "--format", "jsonl"});
  const std::vector<std::string> lines = lines_of(sweep.out);
  ASSERT_EQ(lines.size(), 4U);
  const Json row = parse_json(lines[2], "line 3");
  EXPECT_EQ(keys_of(row), around_figures({"point", "params"},
                                         {"domain", "fingerprint", "format_version", "version"}));
  EXPECT_EQ(row.at("point"), 2);
  EXPECT_EQ(row.at("params"),
            Json::parse(R"({"/cluster/nodes": 4, "/strategy/schedule/type": "wfbp"})"));
  // The same figures as the run of that point.
  const Json run =
      Json::parse(steptime({"run", file, "--format", "json", "--set", "/cluster/nodes=4"}).out);
  for (const auto& [key, value] : row.items()) {
    if (key != "point" && key != "params") {
      EXPECT_EQ(value, run.at(key)) << key;
    }
  }
}

TEST(VerbSweep, FullRowsCarryBucketsAndConfig) {
  const TinyFolder folder;
  const std::string file =
      folder.experiment(R"({"sweep": {"/cluster/nodes": [2, 4], "/run/seed": [5]}})");
  const Outcome sweep = steptime({"sweep", file, "--format", "jsonl", "--full"});
  const Json row = Json::parse(lines_of(sweep.out).at(1));
  EXPECT_EQ(row.at("buckets").size(), 3U);
  EXPECT_EQ(row.at("config").at("cluster").at("nodes"), 4);
  EXPECT_EQ(row.at("config").at("run").at("seed"), 5);
  // The point's config is an experiment: it gives the point's result again.
  folder.write("again.json", row.at("config").dump());
  const Json again =
      Json::parse(steptime({"run", folder.path("again.json"), "--format", "json"}).out);
  EXPECT_EQ(again.at("fingerprint"), row.at("fingerprint"));
  EXPECT_EQ(again.at("buckets"), row.at("buckets"));
}

TEST(VerbSweep, JsonIsAListOfTheLines) {
  const TinyFolder folder;
  const std::string file = folder.experiment(kSweep);
  const Json list = parse_json(steptime({"sweep", file, "--format", "json"}).out, "stdout");
  ASSERT_EQ(list.size(), 4U);
  const std::vector<std::string> lines =
      lines_of(steptime({"sweep", file, "--format", "jsonl"}).out);
  for (std::size_t i = 0; i < list.size(); ++i)
    EXPECT_EQ(list[i], Json::parse(lines[i]));
}

TEST(VerbSweep, CsvQuotesValues) {
  const TinyFolder folder;
  const Outcome sweep =
      steptime({"sweep", "--format", "csv", folder.experiment(R"({"sweep": {"/cluster": [
           {"nodes": 2, "network": {"type": "switch", "latency": "1 us", "bandwidth": "1 GB/s"}},
           {"label": "none, \"at\" all", "value": {"nodes": 0, "network": {
               "type": "rdma", "latency": "2 us", "bandwidth": "2 GB/s"}}}],
           "/strategy/schedule": [{"type": "wfbp"}]}})")});
  EXPECT_EQ(sweep.exit, 4);
  const std::vector<std::string> lines = lines_of(sweep.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0],
            "point,/cluster,/strategy/schedule,step_time_s,compute_time_s,forward_time_s,"
            "backward_time_s,comm_busy_s,exposed_comm_s,throughput_samples_per_s,step_time_low_s,"
            "step_time_high_s,throughput_low_samples_per_s,throughput_high_samples_per_s,speedup,"
            "scaling_efficiency,workers,messages,epoch_time_s,"
            "cold_step_time_s,exposed_input_s,memory_bytes,memory_low_bytes,memory_high_bytes,fits,"
            "tokens_per_s,tokens_per_s_per_gpu,mfu,hfu,device_memory_bytes,"
            "step_time_p50_s,step_time_p95_s,step_time_p99_s,training_time_s,training_time_p50_s,"
            "training_time_p95_s,training_time_p99_s,useful_share,checkpoint_interval_s,"
            "slowdown,staleness_mean,fullest_server,"
            "final_accuracy,"
            "time_to_target_s,time_to_target_min_s,time_to_target_max_s,epochs_to_target,"
            "hidden_under_backward_s,hidden_under_forward_s,exposed_s,"
            "idle_without_communication_s,longest_gpu_wait_s,longest_gpu_wait_for,"
            "simulated_steps,transient_steps,transient_s,funnel_serial_s,"
            "funnel_over_depcha_forward,funnel_over_depcha_backward,domain,"
            "fingerprint,version,error");
  // An object without a label is called by what tells it from the others.
  EXPECT_EQ(lines[1].rfind("0,nodes=2 network=switch latency=1 us bandwidth=1 GB/s,wfbp,0.044,", 0),
            0U)
      << lines[1];
  EXPECT_EQ(lines[2], R"(1,"none, ""at"" all",wfbp)" + std::string(60, ',') + "\"" +
                          folder.path("x.json") +
                          ": /cluster/nodes: must be at least 1 and at most 10000000, got 0\"");
}

TEST(VerbSweep, AnyNumberOfThreadsGivesTheSameBytes) {
  const TinyFolder folder;
  const std::string file = folder.experiment(
      R"({"sweep": {"/cluster/nodes": {"from": 1, "to": 200, "plus": 1},
                    "/strategy/schedule/type": ["wfbp", "mg-wfbp", "optimal"]}})");
  for (const char* format : {"jsonl", "json", "csv", "table"}) {
    const Outcome one = steptime({"sweep", file, "--format", format, "-j1"});
    const Outcome two = steptime({"sweep", file, "--format", format, "-j", "2"});
    EXPECT_EQ(one.exit, 0);
    EXPECT_EQ(two.out, one.out) << format;
    EXPECT_GE(lines_of(one.out).size(), 600U);
  }
}

TEST(VerbSweep, FailedPointsKeepTheirRow) {
  const TinyFolder folder;
  const std::string file = folder.experiment(
      R"({"sweep": {"/cluster/nodes": [2, 0], "/strategy/schedule/type": ["wfbp", "no"]}})");
  const Outcome sweep = steptime({"sweep", file, "--format", "jsonl", "-j1"});
  EXPECT_EQ(sweep.exit, 4);
  const std::vector<std::string> lines = lines_of(sweep.out);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(Json::parse(lines[2]),
            Json({{"point", 2},
                  {"params", {{"/cluster/nodes", 0}, {"/strategy/schedule/type", "wfbp"}}},
                  {"error", file + ": /cluster/nodes: must be at least 1 and at most 10000000, "
                                   "got 0"}}));
  const std::string first = Json::parse(lines[1]).at("error");
  EXPECT_EQ(sweep.err, "3 of 4 points failed; the first: " + first + "\n");
}

TEST(VerbSweep, TheTableOfFailedPointsIsNarrowAndKeepsTheReasons) {
  const TinyFolder folder;
  const std::string file =
      folder.experiment(R"({"sweep": {"/cluster/nodes": [2, 0, 4], "/run/seed": [1, 2]}})");
  const Outcome sweep = steptime({"sweep", file});
  EXPECT_EQ(sweep.exit, 4);
  // Two workers are as fast a step as four: the line's cost knows no number of workers.
  EXPECT_EQ(without_domain(sweep.out),
            "nodes  seed  step ms  exposed ms  messages  samples/s  speedup  efficiency %  error\n"
            "-----  ----  -------  ----------  --------  ---------  -------  ------------  -----\n"
            "    2     1   44.000       2.000         3     1454.5     1.91          95.5\n"
            "    2     2   44.000       2.000         3     1454.5     1.91          95.5\n"
            "    0     1                                                                   [1]\n"
            "    0     2                                                                   [1]\n"
            "    4     1   44.000       2.000         3     2909.1     3.82          95.5\n"
            "    4     2   44.000       2.000         3     2909.1     3.82          95.5\n"
            "\n"
            "[1] " +
                file + ": /cluster/nodes: must be at least 1 and at most 10000000, got 0\n");
  EXPECT_EQ(sweep.err, "2 of 6 points failed\n");
}

TEST(VerbSweep, ADeadlockKeepsItsLines) {
  const TinyFolder folder;
  const std::string file = folder.experiment(
      R"({"workload": {"trace": "k80/googlenet"}, "cluster": {"nodes": 2},
          "strategy": {"embedding": {"type": "naive", "threads": 1, "jitter": 0.5}},
          "sweep": {"/run/seed": [1, 2, 3]}})");
  const Outcome jsonl = steptime({"sweep", file, "--format", "jsonl"});
  ASSERT_EQ(jsonl.exit, 4);
  EXPECT_EQ(lines_of(jsonl.out).size(), 3U);
  EXPECT_NE(jsonl.out.find(R"(wait for each other:\n  rank )"), std::string::npos);
  const Outcome csv = steptime({"sweep", file, "--format", "csv"});
  EXPECT_EQ(lines_of(csv.out).size(), 4U);  // a row is a line
  EXPECT_NE(csv.out.find("wait for each other: rank "), std::string::npos);
  const Outcome table = steptime({"sweep", file});
  EXPECT_EQ(table.out.find('?'), std::string::npos);
  EXPECT_NE(table.out.find("\n[1] deadlock after "), std::string::npos);
  EXPECT_LT(lines_of(table.out)[0].size(), 100U);
}

TEST(VerbSweep, InterruptedWithinAPoint) {
  // One point whose one step is 600,000 messages: the sweep itself looks at the flag before it.
  const TinyFolder folder;
  const Sweep sweep(load_document(folder.experiment(R"({"cluster": {"nodes": 5000}, "strategy":
      {"aggregation": {"type": "parameter-server", "servers": 20, "collective": null,
       "sharding": {"type": "mxnet", "bound": 1000}}}})"),
                                  {}));
  std::atomic<bool> stop{false};
  std::int64_t rows = 0;
  double points = -1;
  SweepOptions options{.stop = [&] { return stop.load(); }};
  options.on_row = [&](const SweepRow&, std::string_view) { ++rows; };
  options.on_progress = [&](std::int64_t, double done) {
    if (!stop) points = done;
    stop = points > 0;  // not while the clients only begin
  };
  run_sweep(sweep, options);
  EXPECT_EQ(rows, 0);
  EXPECT_GT(points, 0);
  EXPECT_LT(points, 1);
}

TEST(VerbSweep, AFolderWhoseNameIsNoUnicodeIsNoBug) {
  const TinyFolder folder;
  std::filesystem::create_directory(folder.path("\xff"));
  Json config = Json::parse(kTinyExperiment);
  config["workload"]["trace"] = folder.path("trace.json");
  config["sweep"]["/cluster/nodes"] = Json({2, 0});
  const std::string file = folder.write("\xff/x.json", config.dump());
  const Outcome sweep = steptime({"sweep", file, "--format", "jsonl"});
  EXPECT_EQ(sweep.exit, 4);
  EXPECT_EQ(sweep.err.find("bug"), std::string::npos) << sweep.err;
  EXPECT_EQ(lines_of(sweep.out).size(), 2U);
}

TEST(VerbSweep, WritesJsonLinesAndCsvIntoAFolder) {
  const TinyFolder folder;
  const std::string file = folder.experiment(kSweep);
  const Outcome sweep = steptime({"sweep", file, "-o", folder.path("out")});
  EXPECT_EQ(sweep.exit, 0);
  EXPECT_EQ(sweep.err, "wrote " + folder.path("out/tiny.jsonl") + " and " +
                           folder.path("out/tiny.csv") + "\n");
  EXPECT_EQ(folder.read("out/tiny.jsonl"), steptime({"sweep", file, "--format", "jsonl"}).out);
  EXPECT_EQ(folder.read("out/tiny.csv"), steptime({"sweep", file, "--format", "csv"}).out);
  EXPECT_FALSE(folder.has("out/tiny.unfinished"));
  EXPECT_FALSE(folder.has("out/tiny.csv.partial"));
}

TEST(VerbSweep, SetsValuesBeforeItSweeps) {
  const TinyFolder folder;
  const Outcome sweep = steptime({"sweep", folder.experiment(kSweep), "--format", "jsonl", "--set",
                                  "/cluster/gpus_per_node=2", "--set",
                                  "/cluster/intra_node={\"type\": \"switch\", \"latency\": "
                                  "\"0 s\", \"bandwidth\": \"1 GB/s\"}"});
  EXPECT_EQ(Json::parse(lines_of(sweep.out).at(2)).at("workers"), 8);  // 4 nodes of 2
}

TEST(VerbSweep, WithoutASweepThereIsOnePoint) {
  const TinyFolder folder;
  const Outcome sweep = steptime({"sweep", folder.experiment(), "--format", "jsonl"});
  EXPECT_EQ(sweep.exit, 0);
  EXPECT_EQ(Json::parse(sweep.out).at("params"), Json::object());
}

TEST(VerbSweep, StrictExits5WhenAPointIsExtrapolated) {
  const TinyFolder folder;
  const std::string file =
      folder.experiment(R"({"cluster": {"nodes": 1}, "sweep": {"/workload/batch": [32, 64]}})");
  EXPECT_EQ(steptime({"sweep", file}).exit, 0);
  EXPECT_EQ(steptime({"sweep", file, "--strict"}).exit, 5);
  EXPECT_EQ(steptime({"sweep", file, "--strict", "--set", "/sweep/~1workload~1batch=[32]"}).exit,
            0);
}

TEST(VerbSweep, InterruptedBeforeItStarts) {
  const TinyFolder folder;
  const std::atomic<bool> interrupted{true};
  const std::string file = folder.experiment(kSweep);
  const Outcome sweep = steptime({"sweep", file, "--format", "json"}, &interrupted);
  EXPECT_EQ(sweep.exit, 130);
  EXPECT_EQ(sweep.err, "interrupted: 0 of 4 points are done\n");
  EXPECT_EQ(parse_json(sweep.out, "stdout"),
            Json::parse(R"([{"interrupted": "0 of 4 points are done"}])"));
}

TEST(VerbSweep, ProgressIsForTerminalsAndLeavesNoTrace) {
  const TinyFolder folder;
  const std::string file = folder.experiment(kSweep);
  std::ostringstream out, err;
  const std::vector<std::string> args{"sweep", file};
  EXPECT_EQ(run_command_line(args, {.out = out, .err = err, .shows_progress = true}), 0);
  EXPECT_EQ(out.str(), steptime({"sweep", file}).out);
  if (!err.str().empty()) {  // nothing in a sweep that takes less than a tenth of a second
    EXPECT_TRUE(err.str().ends_with("\r\033[K"));
  }
}

}  // namespace
}  // namespace steptime
