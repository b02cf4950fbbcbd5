#include "sim/result.h"

#include "sim/error.h"
#include "tests/support/messages.h"
#include "tests/support/tiny_experiment.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Experiment tiny(const TinyFolder& folder, const std::string& patch = "{}") {
  return read_experiment(load_document(folder.experiment(patch), {}));
}

TEST(Simulate, GivesTheFiguresOfTheTinyExperiment) {
  const TinyFolder folder;
  const Result r = simulate(tiny(folder, R"({"workload": {"dataset_samples": 1000}})"));
  EXPECT_EQ(r.step_time_s, 0.044);
  EXPECT_EQ(r.compute_time_s, 0.042);
  EXPECT_EQ(r.forward_time_s, 0.015);
  EXPECT_EQ(r.backward_time_s, 0.027);
  EXPECT_EQ(r.comm_busy_s, 0.008004);
  EXPECT_EQ(r.exposed_comm_s, 0.002);
  EXPECT_DOUBLE_EQ(r.throughput_samples_per_s, 4 * 32 / 0.044);
  // One worker needs 42 ms for 32 samples, four need 44 ms for 128: 4 * 42 / 44.
  EXPECT_DOUBLE_EQ(r.speedup, 4 * 42 / 44.0);
  EXPECT_DOUBLE_EQ(r.scaling_efficiency, 42 / 44.0);
  EXPECT_EQ(r.workers, 4);
  EXPECT_EQ(r.messages, 3);
  ASSERT_TRUE(r.epoch_time_s);
  EXPECT_DOUBLE_EQ(*r.epoch_time_s, 8 * 0.044);  // ceil(1000 / 128) = 8 steps
  EXPECT_EQ(r.domain, "inside");
}

TEST(Simulate, OneWorkerDoesNotCommunicate) {
  const TinyFolder folder;
  const Result r = simulate(tiny(folder, R"({"cluster": {"nodes": 1}})"));
  EXPECT_EQ(r.step_time_s, 0.042);
  EXPECT_EQ(r.comm_busy_s, 0);
  EXPECT_EQ(r.exposed_comm_s, 0);
  EXPECT_EQ(r.speedup, 1);
  EXPECT_EQ(r.scaling_efficiency, 1);
  EXPECT_EQ(r.messages, 0);
  EXPECT_FALSE(r.epoch_time_s);
}

TEST(Simulate, TheEventEngineGivesTheSame) {
  const TinyFolder folder;
  for (const char* schedule : {"naive", "wfbp", "sync-easgd", "mg-wfbp", "optimal"}) {
    const Experiment e = tiny(folder, std::string(R"({"run": {"steps": 3}, "strategy":
                                       {"schedule": {"type": ")") +
                                          schedule + "\"}}}");
    Timeline timeline;
    const Result closed = simulate(e);
    const Result played = simulate(e, timeline);
    EXPECT_EQ(csv_cells(played), csv_cells(closed)) << schedule;
    // 2 * 3 layers and the messages, in each of three steps
    EXPECT_EQ(timeline.spans().size(), 3 * (6 + static_cast<std::size_t>(closed.messages)));
  }
}

TEST(Simulate, TheFingerprintTellsTrajectoriesApart) {
  // A startup that is half a microsecond longer moves the end of every message; names and seeds
  // move nothing.
  const TinyFolder folder;
  const Result a = simulate(tiny(folder));
  const Result b = simulate(tiny(folder, R"({"strategy": {"aggregation": {"collective":
                                              {"a": "1.0005 ms"}}}})"));
  EXPECT_NE(a.fingerprint, b.fingerprint);
  EXPECT_EQ(a.fingerprint,
            simulate(tiny(folder, R"({"name": "y", "run": {"seed": 5}})")).fingerprint);
}

TEST(Simulate, SaysWhatIsExtrapolated) {
  const TinyFolder folder;
  folder.write("table.csv", "bytes,time_us\n1000,1000\n100000,2000\n");
  const std::string table = R"("strategy": {"aggregation": {"collective":
                               {"type": "table", "file": "table.csv", "a": null, "b": null}}})";
  // fc.b has 4 kB; fc.w, the first to leave the table, has 4 MB.
  EXPECT_EQ(simulate(tiny(folder, "{" + table + "}")).domain,
            "4000000 B is outside the measured 1000 to 100000 B");
  EXPECT_EQ(simulate(tiny(folder, R"({"workload": {"batch": 64}})")).domain,
            "compute times scaled from batch 32 to 64");
  EXPECT_EQ(simulate(tiny(folder, R"({"workload": {"batch": 64}, )" + table + "}")).domain,
            "compute times scaled from batch 32 to 64; 4000000 B is outside the measured 1000 to "
            "100000 B");
}

TEST(Result, FiguresByKey) {
  const TinyFolder folder;
  const Result r = simulate(tiny(folder));
  EXPECT_EQ(r.figure("step_time_s"), 0.044);
  EXPECT_EQ(r.figure("workers"), 4);
  EXPECT_EQ(r.figure("messages"), 3);
  EXPECT_EQ(message_of<InputError>([&] { r.figure("epoch_time_s"); }),
            "\"epoch_time_s\" is not known for this run");
  EXPECT_EQ(message_of<InputError>([&] { r.figure("step_time"); }),
            "\"step_time\" is no figure of a result; known: step_time_s, compute_time_s, "
            "forward_time_s, backward_time_s, comm_busy_s, exposed_comm_s, "
            "throughput_samples_per_s, speedup, scaling_efficiency, workers, messages, "
            "epoch_time_s");
}

std::vector<SentBucket> buckets_of(const Experiment& experiment) {
  std::vector<SentBucket> buckets;
  simulate(experiment, &buckets);
  return buckets;
}

TEST(SentBuckets, AreInSendOrderWithTheirTimes) {
  const TinyFolder folder;
  const auto sent = buckets_of(tiny(folder));
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[0].tensors, std::vector<std::string>{"fc.b"});
  EXPECT_EQ(sent[0].bytes, Bytes{4000});
  EXPECT_EQ(sent[0].ready_s, 0.020);
  EXPECT_EQ(sent[0].start_s, 0.020);
  EXPECT_EQ(sent[0].end_s, 0.021004);
  EXPECT_EQ(sent[1].tensors, std::vector<std::string>{"fc.w"});
  EXPECT_EQ(sent[1].ready_s, 0.020);
  EXPECT_EQ(sent[1].start_s, 0.021004);  // waits for fc.b
  EXPECT_EQ(sent[1].end_s, 0.026004);
  EXPECT_EQ(sent[2].start_s, 0.042);
  EXPECT_EQ(sent[2].end_s, 0.044);
}

TEST(SentBuckets, OfOneMessageNameAllItsTensors) {
  const TinyFolder folder;
  const auto sent =
      buckets_of(tiny(folder, R"({"strategy": {"schedule": {"type": "sync-easgd"}}})"));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].tensors, (std::vector<std::string>{"fc.b", "fc.w", "conv"}));
  EXPECT_EQ(sent[0].bytes, Bytes{5'004'000});
  EXPECT_EQ(sent[0].end_s, 0.048004);  // 42 + 1 + 5.004 ms
}

TEST(SentBuckets, OfWorkersThatDifferAreThoseOfTheFirst) {
  // A straggler that takes as long as any other: the same times, played instead of in closed form.
  const TinyFolder folder;
  const std::string varied = R"({"run": {"steps": 3, "variation": {"straggle_chance": 1}}})";
  std::vector<SentBucket> buckets;
  const Result r = simulate(tiny(folder, varied), &buckets);
  EXPECT_DOUBLE_EQ(r.step_time_s, 0.044);
  EXPECT_EQ(r.messages, 3);
  EXPECT_DOUBLE_EQ(r.comm_busy_s, 0.008004);
  const auto closed = buckets_of(tiny(folder));
  ASSERT_EQ(buckets.size(), closed.size());
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    EXPECT_EQ(buckets[i].tensors, closed[i].tensors);
    EXPECT_EQ(buckets[i].start_s, closed[i].start_s);
    EXPECT_EQ(buckets[i].end_s, closed[i].end_s);
  }
}

TEST(FullJson, HasExactlyTheDocumentedKeys) {
  const TinyFolder folder;
  const Experiment e = tiny(folder, R"({"workload": {"dataset_samples": 1000}})");
  const Json config = Json::parse(folder.read("x.json"));
  const Json json = full_json(simulate(e), buckets_of(e), config);
  std::vector<std::string> keys;
  for (const auto& [key, unused] : json.items())
    keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{
                      "step_time_s", "compute_time_s", "forward_time_s", "backward_time_s",
                      "comm_busy_s", "exposed_comm_s", "throughput_samples_per_s", "speedup",
                      "scaling_efficiency", "workers", "messages", "epoch_time_s", "buckets",
                      "domain", "fingerprint", "version", "config"}));
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
                            R"({"cluster": {"nodes": 10000000, "gpus_per_node": 1024}})"}) {
    const Experiment e = tiny(folder, patch);
    const Result r = simulate(e);
    Json full = full_json(r, buckets_of(e), Json::parse(folder.read("x.json")));
    full.erase("buckets");
    full.erase("config");
    std::string text = "{";
    append_json(text, r);
    EXPECT_EQ(Json::parse(text + "}"), full) << patch;
  }
}

TEST(AppendJson, QuotesTheDomain) {
  Result r;
  r.domain = "say \"x\"\n";
  std::string text = "{";
  append_json(text, r);
  EXPECT_EQ(Json::parse(text + "}").at("domain"), r.domain);
}

TEST(AppendJson, WritesTheFingerprintAsSixteenDigits) {
  Result r;
  r.fingerprint = 0xab;
  std::string text;
  append_json(text, r);
  EXPECT_NE(text.find("\"fingerprint\":\"00000000000000ab\""), std::string::npos) << text;
}

TEST(CsvCells, OnePerKeyAndEmptyWhereThereIsNoValue) {
  const TinyFolder folder;
  const std::vector<std::string> cells = csv_cells(simulate(tiny(folder)));
  const auto keys = result_keys();
  ASSERT_EQ(cells.size(), keys.size());
  const auto cell = [&](std::string_view key) {
    return cells.at(
        static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin()));
  };
  EXPECT_EQ(cell("step_time_s"), "0.044");
  EXPECT_EQ(cell("workers"), "4");
  EXPECT_EQ(cell("epoch_time_s"), "");
  EXPECT_EQ(cell("domain"), "inside");
  EXPECT_EQ(cell("version"), STEPTIME_VERSION);
  EXPECT_EQ(cell("fingerprint").size(), 16U);
}

TEST(Summary, SaysItInWords) {
  const TinyFolder folder;
  const Experiment e = tiny(folder, R"({"workload": {"dataset_samples": 1000}})");
  Result r = simulate(e);
  r.fingerprint = 0xab;
  EXPECT_EQ(summary(e, r),
            "tiny: tiny on test, batch 32 per worker, 4 workers\n"
            "\n"
            "  step time            44.000 ms\n"
            "    forward            15.000 ms\n"
            "    backward           27.000 ms\n"
            "    exposed comm        2.000 ms   of 8.004 ms in 3 messages\n"
            "  throughput          2909.09 /s   samples, all workers\n"
            "  speedup                 3.82 x   of 4: scaling efficiency 95.5 %\n"
            "  epoch                    0.4 s\n"
            "  domain                  inside\n"
            "  fingerprint   00000000000000ab\n");
  r.domain = "why";
  r.messages = r.workers = 1;
  const std::string text = summary(e, r);
  EXPECT_NE(text.find("per worker, 1 worker\n"), std::string::npos) << text;
  EXPECT_NE(text.find("in 1 message\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  domain            extrapolated   why\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace steptime
