#include "tests/support/result_keys.h"
#include "tests/support/tiny_experiment.h"

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>

namespace steptime {
namespace {

TEST(VerbRun, JsonCarriesEveryKey) {
  const TinyFolder folder;
  const Outcome run = steptime(
      {"run", folder.experiment(R"({"workload": {"dataset_samples": 1000}})"), "--format", "json"});
  ASSERT_EQ(run.exit, 0);
  EXPECT_EQ(run.err, "");
  const Json json = parse_json(run.out, "stdout");
  EXPECT_EQ(keys_of(json),
            around_figures({}, {"epoch_time_s", "buckets", "domain", "attribution", "fingerprint",
                                "format_version", "version", "inputs", "config"}));
  // The worked example of tests/support/tiny_experiment.h.
  EXPECT_EQ(json.at("step_time_s"), 0.044);
  EXPECT_EQ(json.at("exposed_comm_s"), 0.002);
  EXPECT_EQ(json.at("buckets").size(), 3U);
  EXPECT_EQ(json.at("config").at("run").at("steps"), 1);  // a default, written out
}

TEST(VerbRun, JsonLinesIsTheSameOnOneLine) {
  const TinyFolder folder;
  const std::string file = folder.experiment();
  const Outcome json = steptime({"run", file, "--format", "json"});
  const Outcome line = steptime({"run", file, "--format=jsonl"});
  EXPECT_EQ(lines_of(line.out).size(), 1U);
  EXPECT_EQ(Json::parse(line.out), Json::parse(json.out));
}

TEST(VerbRun, EpochTimeNeedsTheDatasetSize) {
  const TinyFolder folder;
  const Outcome run = steptime({"run", folder.experiment(), "--format", "json"});
  EXPECT_FALSE(Json::parse(run.out).contains("epoch_time_s"));
}

TEST(VerbRun, CsvHasAHeadAndARow) {
  const TinyFolder folder;
  const Outcome run = steptime({"run", folder.experiment(), "--format", "csv"});
  const std::vector<std::string> lines = lines_of(run.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(
      lines[0],
      "step_time_s,compute_time_s,forward_time_s,backward_time_s,comm_busy_s,exposed_comm_s,"
      "throughput_samples_per_s,step_time_low_s,step_time_high_s,throughput_low_samples_per_s,"
      "throughput_high_samples_per_s,speedup,scaling_efficiency,workers,messages,epoch_time_s,"
      "cold_step_time_s,exposed_input_s,memory_bytes,memory_low_bytes,memory_high_bytes,fits,"
      "tokens_per_s,tokens_per_s_per_gpu,mfu,hfu,device_memory_bytes,"
      "step_time_p50_s,step_time_p95_s,step_time_p99_s,training_time_s,training_time_p50_s,"
      "training_time_p95_s,training_time_p99_s,useful_share,checkpoint_interval_s,"
      "slowdown,staleness_mean,fullest_server,final_accuracy,time_to_target_s,time_to_target_min_s,"
      "time_to_target_max_s,epochs_to_target,hidden_under_backward_s,hidden_under_forward_s,"
      "exposed_s,idle_without_communication_s,longest_gpu_wait_s,longest_gpu_wait_for,"
      "simulated_steps,transient_steps,transient_s,funnel_serial_s,"
      "funnel_over_depcha_forward,funnel_over_depcha_backward,domain,"
      "fingerprint,version");
  EXPECT_EQ(lines[1].rfind("0.044,0.042,0.015,0.027,0.008004,0.002,2909.09", 0), 0U) << lines[1];
}

/// A ring over four GPUs of a node, as messages.
constexpr const char* kPlayed =
    R"({"cluster": {"nodes": 1, "gpus_per_node": 4,
                    "intra_node": {"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"}},
        "run": {"fidelity": "message"},
        "strategy": {"aggregation": {"collective": {"type": "ring", "a": null, "b": null}}}})";

TEST(VerbRun, SaysWhatLinksCarry) {
  // Every port carries 2 * 3 / 4 of the 5.004 MB of a step in each direction.
  const TinyFolder folder;
  const std::string file = folder.experiment(kPlayed);
  const Json json = Json::parse(steptime({"run", file, "--format", "json"}).out);
  ASSERT_EQ(json.at("links").size(), 8U);
  for (const Json& link : json.at("links")) {
    EXPECT_EQ(link.at("bytes"), 7'506'000);
    EXPECT_NEAR(link.at("busy").get<double>(), 7.506e6 / 1e9 / json.at("step_time_s").get<double>(),
                1e-9);
  }
  EXPECT_NE(steptime({"run", file}).out.find("gpu0 to switch, 7.506 MB a step\n"),
            std::string::npos);
}

TEST(VerbRun, DrawsANodeWithItsLoad) {
  const TinyFolder folder;
  const Outcome run = steptime({"run", folder.experiment(kPlayed), "--format", "dot"});
  EXPECT_EQ(run.exit, 0);
  EXPECT_EQ(run.out.rfind("graph ", 0), 0U) << run.out.substr(0, 20);
  EXPECT_NE(run.out.find('%'), std::string::npos);
  EXPECT_EQ(steptime({"run", folder.experiment(), "--format", "gif"}).err,
            "steptime: --format: unknown \"gif\"; known: table, json, jsonl, csv, dot\n");
}

TEST(VerbRun, TableIsTheDefault) {
  const TinyFolder folder;
  const std::string file = folder.experiment();
  const Outcome run = steptime({"run", file});
  EXPECT_EQ(run.out, steptime({"run", file, "--format", "table"}).out);
  EXPECT_EQ(lines_of(run.out)[0], "tiny: tiny on test, batch 32 per worker, 4 workers");
}

TEST(VerbRun, TheSameRunGivesTheSameBytes) {
  const TinyFolder folder;
  const std::string file = folder.experiment();
  EXPECT_EQ(steptime({"run", file, "--format", "json"}).out,
            steptime({"run", file, "--format", "json"}).out);
}

TEST(VerbRun, SetAndSeedReplaceValues) {
  const TinyFolder folder;
  const Outcome run = steptime({"run", folder.experiment(), "--format", "json", "--set",
                                "/cluster/nodes=2", "--set", "/run/seed=3", "--set",
                                "/strategy/schedule/type=sync-easgd", "--seed", "7"});
  ASSERT_EQ(run.exit, 0) << run.err;
  const Json json = Json::parse(run.out);
  EXPECT_EQ(json.at("workers"), 2);
  EXPECT_EQ(json.at("messages"), 1);
  EXPECT_EQ(json.at("config").at("run").at("seed"), 7);
  EXPECT_EQ(json.at("config").at("cluster").at("nodes"), 2);
}

TEST(VerbRun, WritesTheResultIntoAFolder) {
  const TinyFolder folder;
  const std::string target = folder.path("a/b");
  const Outcome run = steptime({"run", folder.experiment(), "-o", target});
  EXPECT_EQ(run.exit, 0);
  EXPECT_EQ(run.err, "wrote " + target + "/tiny.json\n");
  EXPECT_EQ(lines_of(run.out)[0], "tiny: tiny on test, batch 32 per worker, 4 workers");
  EXPECT_EQ(folder.read("a/b/tiny.json"),
            steptime({"run", folder.path("x.json"), "--format", "json"}).out);
}

TEST(VerbRun, TheResolvedConfigGivesTheSameResultAgain) {
  const TinyFolder folder;
  const Outcome first =
      steptime({"run", folder.experiment(R"({"strategy": {"schedule": {"type": "optimal"}}})"),
                "--format", "json", "--set", "/cluster/nodes=3"});
  folder.write("again.json", Json::parse(first.out).at("config").dump());
  EXPECT_EQ(steptime({"run", folder.path("again.json"), "--format", "json"}).out, first.out);
}

TEST(VerbRun, ANameMustServeAsAFileName) {
  const TinyFolder folder;
  for (const char* name : {"", "a/b", "../x", "..", "a\nb"}) {
    const std::string file = folder.experiment(Json{{"name", name}}.dump());
    const Outcome run = steptime({"run", file, "-o", folder.path("out")});
    EXPECT_EQ(run.exit, 2) << name;
    EXPECT_EQ(run.err, "steptime: " + file + ": /name: expected a name that can be a file's, got " +
                           Json(name).dump() + "\n");
    EXPECT_FALSE(folder.has("out"));
  }
}

TEST(VerbRun, SaysWhereItCannotWrite) {
  const TinyFolder folder;
  const std::string file = folder.experiment();
  EXPECT_EQ(steptime({"run", file, "-o", file}).err,
            "steptime: " + file + ": cannot be created: Not a directory\n");
  EXPECT_EQ(steptime({"run", file, "--timeline", folder.path("new/t.json")}).err,
            "steptime: " + folder.path("new/t.json") +
                ": cannot be written: No such file or directory\n");
  EXPECT_FALSE(folder.has("new"));
  EXPECT_EQ(steptime({"run", file, "--timeline", folder.path("")}).exit, 2);
}

TEST(VerbRun, PointsToTheSweep) {
  const TinyFolder folder;
  const Outcome run =
      steptime({"run", folder.experiment(R"({"sweep": {"/cluster/nodes": [1, 2, 3]}})")});
  EXPECT_EQ(run.exit, 0);
  EXPECT_EQ(run.err, "note: the config has a sweep; steptime sweep runs its 3 points\n");
}

/// Number of packets of a Perfetto trace, and of those that are track events.
std::pair<int, int> packets(const std::string& trace) {
  int all = 0;
  int events = 0;
  protozero::pbf_reader reader(trace);
  while (reader.next(1)) {
    ++all;
    protozero::pbf_reader packet = reader.get_message();
    while (packet.next()) {
      if (packet.tag() == 11) ++events;
      packet.skip();
    }
  }
  return {all, events};
}

TEST(VerbRun, TimelineForPerfetto) {
  const TinyFolder folder;
  const std::string file = folder.experiment();
  const Outcome run = steptime({"run", file, "--timeline", folder.path("t.pftrace")});
  ASSERT_EQ(run.exit, 0) << run.err;
  EXPECT_EQ(run.out, steptime({"run", file}).out);
  EXPECT_EQ(run.err, "wrote " + folder.path("t.pftrace") + ", open in ui.perfetto.dev\n");
  // 3 layers forward, 3 backward, 3 messages: 9 spans with a begin and an end; 2 tracks of one
  // rank, and a counter of what is under way, which changes at 20, 21.004, 26.004, 42 and 44 ms.
  EXPECT_EQ(packets(folder.read("t.pftrace")), (std::pair{4 + 2 * 9 + 5, 2 * 9 + 5}));
  steptime({"run", file, "--timeline", folder.path("t.pftrace"), "--set", "/run/steps=5"});
  EXPECT_EQ(packets(folder.read("t.pftrace")), (std::pair{4 + 5 * (2 * 9 + 5), 5 * (2 * 9 + 5)}));
}

TEST(VerbRun, SaysThatATimelineIsEmpty) {
  const TinyFolder folder;
  const std::string path = folder.path("t.json");
  const Outcome run =
      steptime({"run", folder.experiment(), "--timeline", path, "--timeline-window=8s..9s"});
  EXPECT_EQ(run.exit, 0);
  EXPECT_EQ(run.err, "wrote " + path +
                         ", which is empty: these ranks are not drawn, or nothing happens in this "
                         "window\n");
}

TEST(VerbRun, TimelineForChrome) {
  const TinyFolder folder;
  const Outcome run = steptime({"run", folder.experiment(), "--timeline", folder.path("t.json")});
  ASSERT_EQ(run.exit, 0) << run.err;
  const Json events = parse_json(folder.read("t.json"), "t.json");
  // 2 tracks of one rank, 9 spans, the gradients of fc and conv that flow into messages, 5 values.
  ASSERT_EQ(events.size(), 3U + 9U + 2U * 2U + 5U);
  // The last message: conv from 42 ms for 2 ms.
  EXPECT_EQ(events[11], Json::parse(R"json({"ph": "X", "name": "conv", "pid": 1,
                                "tid": 1, "ts": 42000.0, "dur": 2000.0,
                                "args": {"bytes": 1000000, "bucket": 2, "tensors": "conv"}})json"));
}

TEST(VerbRun, ATimelineOfSomeRanksAndTimes) {
  const TinyFolder folder;
  const std::string file = folder.experiment(R"({"run": {"steps": 3}, "strategy": {"update": "asgd",
      "aggregation": {"type": "parameter-server", "servers": 1, "collective": null}}})");
  const auto spans = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args{"run", file, "--timeline", folder.path("t.json")};
    args.insert(args.end(), more.begin(), more.end());
    EXPECT_EQ(steptime(args).exit, 0);
    std::map<std::string, int> count;  // of the processes' spans
    std::map<int, std::string> names;
    for (const Json& event : parse_json(folder.read("t.json"), "t.json")) {
      if (event["name"] == "process_name") names[event["pid"]] = event["args"]["name"];
      if (event["ph"] == "X") ++count[names[event["pid"]]];
    }
    return count;
  };
  const auto all = spans({});
  for (const char* rank : {"rank 0", "rank 1", "rank 2", "rank 3"})
    EXPECT_TRUE(all.contains(rank)) << rank;
  const auto two = spans({"--timeline-ranks", "1-2"});
  EXPECT_EQ(two.at("rank 1"), all.at("rank 1"));
  EXPECT_EQ(two.at("rank 2"), all.at("rank 2"));
  EXPECT_FALSE(two.contains("rank 0") || two.contains("rank 3"));
  const auto early = spans({"--timeline-ranks", "3", "--timeline-window", "0 s..1 ms"});
  EXPECT_LT(early.at("rank 3"), all.at("rank 3"));
  const auto refusal = [&](const std::vector<std::string>& more) {
    std::vector<std::string> args{"run", file};
    args.insert(args.end(), more.begin(), more.end());
    return steptime(args).err;
  };
  EXPECT_EQ(refusal({"--timeline", "x.txt"}),
            "steptime: --timeline: expected a name that ends in .pftrace (Perfetto) or .json "
            "(Chrome), got \"x.txt\"\n");
  EXPECT_EQ(refusal({"--timeline-ranks", "1"}),
            "steptime: --timeline-ranks: expected --timeline beside it\n");
  EXPECT_EQ(refusal({"--timeline-ranks", "4-2"}),
            "steptime: --timeline-ranks: expected such as 3 or 2-5, got \"4-2\"\n");
  EXPECT_EQ(refusal({"--timeline-window", "1..2"}),
            "steptime: --timeline-window: expected such as 10ms..20ms, got \"1..2\"\n");
  EXPECT_EQ(refusal({"--timeline-window", "2ms..1ms"}),
            "steptime: --timeline-window: ends before it begins: \"2ms..1ms\"\n");
}

TEST(VerbRun, RanksThatTheRunDoesNotHaveCannotBeDrawn) {
  const TinyFolder folder;  // of four workers
  for (const char* ranks : {"0-99", "4", "0-4"}) {
    const Outcome run = steptime({"run", folder.experiment(), "--timeline", folder.path("t.json"),
                                  "--timeline-ranks", ranks});
    EXPECT_EQ(run.exit, 2) << ranks;
    EXPECT_EQ(run.err,
              "steptime: --timeline-ranks: expected ranks from 0 to 3, those of the run, "
              "got \"" +
                  std::string(ranks) + "\"\n");
    EXPECT_FALSE(folder.has("t.json"));
  }
}

TEST(VerbRun, ATimelineOfJobsSaysThatItIsOfTheFirst) {
  const TinyFolder folder;
  const std::string file = folder.experiment(R"({"strategy": {"aggregation": {
      "collective": {"type": "ring", "a": null, "b": null}}}, "run": {"fidelity": "message"},
      "jobs": [{"name": "near", "nodes": [0, 1]}, {"nodes": [2, 3]}]})");
  const std::string path = folder.path("t.json");
  const Outcome run = steptime({"run", file, "--timeline", path});
  EXPECT_EQ(run.err,
            "wrote " + path + " of the first of 2 jobs only, \"near\", open in ui.perfetto.dev\n");
  // It has two workers.
  EXPECT_EQ(steptime({"run", file, "--timeline", path, "--timeline-ranks", "2"}).err,
            "steptime: --timeline-ranks: expected ranks from 0 to 1, those of the first job, "
            "\"near\", got \"2\"\n");
}

TEST(VerbRun, AWrongFormatWritesNothing) {
  const TinyFolder folder;
  const Outcome run = steptime({"run", folder.experiment(), "--format", "xml", "--timeline",
                                folder.path("t.json"), "-o", folder.path("out")});
  EXPECT_EQ(run.exit, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, "steptime: --format: unknown \"xml\"; known: table, json, jsonl, csv, dot\n");
  EXPECT_FALSE(folder.has("t.json"));
  EXPECT_FALSE(folder.has("out"));
}

TEST(VerbRun, ATimelineBeyondSimulatedTimeIsTheUsersFault) {
  // 3 steps of 3.6e6 s each are 10.8e6 s, beyond the 9.2e6 s of 64-bit picoseconds.
  const TinyFolder folder;
  const Outcome run = steptime(
      {"run",
       folder.experiment(R"({"run": {"steps": 3}, "strategy": {"schedule": {"type": "sync-easgd"},
                             "aggregation": {"collective": {"a": "3600000 s"}}}})"),
       "--timeline", folder.path("t.json")});
  EXPECT_EQ(run.exit, 2);
  EXPECT_EQ(lines_of(run.err).size(), 1U);
  EXPECT_EQ(run.err.find("bug"), std::string::npos) << run.err;
}

/// Interrupted from the start: what hears of it ends at once, what does not runs to its end.
Outcome interrupted_run(const std::string& file) {
  const std::atomic<bool> interrupted{true};
  return steptime({"run", file}, &interrupted);
}

// Each has one step only, of more than 2^12 events.
TEST(VerbRun, CanBeInterruptedWithinAStep) {
  const TinyFolder folder;
  const char* const servers = R"({"cluster": {"nodes": 5000}, "strategy": {"aggregation":
      {"type": "parameter-server", "servers": 20, "collective": null,
       "sharding": {"type": "mxnet", "bound": 1000}}}})";
  const char* const messages = R"({"run": {"fidelity": "message", "variation": {"jitter": 0.1}},
      "cluster": {"nodes": 200}, "strategy": {"aggregation": {"collective":
      {"type": "ring", "a": null, "b": null}}}})";
  const char* const engine = R"({"cluster": {"nodes": 3000},
      "strategy": {"embedding": {"type": "funnel", "jitter": 0.1}}})";
  for (const char* patch : {servers, messages, engine}) {
    const Outcome run = interrupted_run(folder.experiment(patch));
    EXPECT_EQ(run.exit, 130) << patch;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(run.err, "steptime: interrupted: no result before the end\n");
  }
}

TEST(VerbRun, ARunThatFailsLeavesNoFile) {
  const TinyFolder folder;
  const std::string file = folder.experiment(R"({"workload": {"compute_time": "0 s"},
      "cluster": {"nodes": 1}})");
  const Outcome run =
      steptime({"run", file, "--timeline", folder.path("t.json"), "-o", folder.path("out")});
  EXPECT_EQ(run.exit, 2);
  EXPECT_FALSE(folder.has("t.json"));
  EXPECT_FALSE(folder.has("t.json.partial"));
  EXPECT_FALSE(folder.has("out/tiny.json.partial"));
}

TEST(VerbRun, StrictRefusesAScaledBatch) {
  const TinyFolder folder;
  // Of one worker, whose measured time is all that counts.
  const std::string file =
      folder.experiment(R"({"workload": {"batch": 64}, "cluster": {"nodes": 1}})");
  const Outcome strict = steptime({"run", file, "--strict", "--format", "json"});
  EXPECT_EQ(strict.exit, 5);
  EXPECT_EQ(strict.err, "extrapolated: compute times scaled from batch 32 to 64\n");
  const Json domain = Json::parse(strict.out).at("domain");
  EXPECT_EQ(domain.at("status"), "extrapolated");
  EXPECT_EQ(domain.at("beyond").dump(), R"(["compute times scaled from batch 32 to 64"])");
  EXPECT_EQ(steptime({"run", file}).exit, 0);
  EXPECT_EQ(steptime({"run", folder.experiment(R"({"cluster": {"nodes": 1}})"), "--strict"}).exit,
            0);
  EXPECT_EQ(steptime({"run", folder.experiment(), "--strict"}).exit, 5);  // as nobody measured it
}

TEST(VerbRun, StrictNamesAnExtrapolatedTable) {
  const TinyFolder folder;
  const auto names = [](const std::string& file) {
    return steptime({"run", file, "--strict"}).err.find("B is outside the measured") !=
           std::string::npos;
  };
  const std::string file = folder.experiment(
      R"({"strategy": {"aggregation": {"collective": {"type": "table", "file": "table.csv",
          "a": null, "b": null}}}})");
  // The smallest message has 4000 B, the largest 4,000,000 B: at the very ends of the table.
  folder.write("table.csv", "bytes,time_us\n4000,1000\n4000000,2000\n");
  EXPECT_FALSE(names(file));
  folder.write("table.csv", "bytes,time_us\n4000,1000\n3999999,2000\n");
  EXPECT_TRUE(names(file));
  folder.write("table.csv", "bytes,time_us\n4001,1000\n4000000,2000\n");
  EXPECT_TRUE(names(file));
  EXPECT_EQ(steptime({"run", file}).exit, 0);
}

}  // namespace
}  // namespace steptime
