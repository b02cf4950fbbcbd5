// Are timelines for Chrome what our schema of its format says, and do flows lead from a gradient to
// what is done with it?
#include "tests/support/json_schema.h"
#include "tests/support/tiny_experiment.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string refusal(const Json& trace) {
  static const JsonSchema schema(
      read_file(std::string(STEPTIME_TESTS_DIR) + "/sim/events/chrome_trace.schema.json"));
  return schema.refusal(trace);
}

Json trace_of(const std::string& config, const std::string& window) {
  const TinyFolder folder;
  const Outcome run =
      steptime({"run", std::string(STEPTIME_SOURCE_DIR) + "/configs/" + config, "--timeline",
                folder.path("t.json"), "--timeline-ranks", "0-1", "--timeline-window", window});
  EXPECT_EQ(run.exit, 0) << run.err;
  return Json::parse(folder.read("t.json"));
}

/// The tracks that flows lead along, in the order of time, each named once.
std::set<std::string> ways(const Json& trace) {
  std::map<std::pair<Json, Json>, std::string> tracks;
  std::map<std::int64_t, std::vector<std::pair<double, std::string>>> flows;
  for (const Json& event : trace) {
    const std::string ph = event["ph"];
    if (ph == "M" && event["name"] == "thread_name") {
      std::string name = event["args"]["name"];
      name.resize(std::min(name.size(), name.find_last_not_of("0123456789 ") + 1));
      tracks[{event["pid"], event["tid"]}] = name;
    } else if (ph == "s" || ph == "t" || ph == "f") {
      flows[event["id"].get<std::int64_t>()].emplace_back(event["ts"].get<double>(),
                                                          tracks.at({event["pid"], event["tid"]}));
    }
  }
  std::set<std::string> all;
  for (auto& [id, spans] : flows) {
    std::stable_sort(spans.begin(), spans.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string way;
    for (const auto& [ts, track] : spans) {
      if (way.find(track) == way.npos) way += (way.empty() ? "" : " > ") + track;
    }
    all.insert(way);
  }
  return all;
}

TEST(ChromeTrace, OfAClosedFormKeepsTheSchema) {
  const Json trace = trace_of("quickstart.json", "0s..10s");
  EXPECT_EQ(refusal(trace), "");
  EXPECT_EQ(ways(trace), (std::set<std::string>{"compute > all-reduce > carries"}));
}

TEST(ChromeTrace, OfMxnetsEngineKeepsTheSchema) {
  const Json trace = trace_of("papers/mxnet-dag/resnet50.json", "0s..600ms");
  EXPECT_EQ(refusal(trace), "");
  // Funnel: the gradient is copied to the host, added up there, and its update copies it back.
  EXPECT_TRUE(ways(trace).contains("compute > copies to host > collectives > updates"));
}

TEST(ChromeTrace, OfAKvstoresMergeKeepsTheSchema) {
  const Json trace = trace_of("papers/mxnet-tree/end-to-end.json", "0s..50ms");
  EXPECT_EQ(refusal(trace), "");
  EXPECT_TRUE(ways(trace).contains("compute > copies > sums > updates"));
}

TEST(ChromeTrace, OfParameterServersKeepsTheSchema) {
  EXPECT_EQ(refusal(trace_of("papers/clusters/ddl-benchmarks-bert-ps.json", "0s..1s")), "");
}

TEST(ChromeTrace, TheSchemaRefusesWhatChromeDoesNotRead) {
  const char* const span = R"([{"ph": "X", "name": "a", "pid": 0, "tid": 0, "ts": 0, "dur": 1}])";
  EXPECT_EQ(refusal(Json::parse(span)), "");
  for (const auto& [key, value] :
       std::map<std::string, Json>{{"dur", -1}, {"ts", "0"}, {"ph", "B"}, {"x", 1}}) {
    Json wrong = Json::parse(span);
    wrong[0][key] = value;
    EXPECT_NE(refusal(wrong), "") << key;
  }
}

}  // namespace
}  // namespace steptime
