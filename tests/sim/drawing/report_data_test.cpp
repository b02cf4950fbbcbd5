#include "sim/drawing/report_data.h"

#include "sim/core/error.h"
#include "sim/experiment/overrides.h"
#include "tests/support/messages.h"
#include "tests/support/tiny_experiment.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Json data_of(const std::string& patch) {
  const TinyFolder folder;
  return report_data(load_document(folder.experiment(patch), {}), 1);
}

TEST(ReportData, HasTheStepItsReasonsAndItsFirstStepsSpans) {
  const Json data = data_of("{}");
  EXPECT_EQ(data["name"], "tiny");
  EXPECT_EQ(data["workload"], "tiny on test, batch 32 per worker, 4 workers");
  EXPECT_EQ(data["result"]["step_time_s"], 0.044);
  EXPECT_EQ(data["result"]["buckets"].size(), 3U);
  EXPECT_EQ(data["explanation"]["scaling"].size(), 5U);  // 1, 2, 4, 8, 16 nodes
  EXPECT_TRUE(data["sweep"].is_null());
  // All-reduces known by their time only have no messages that links could carry.
  EXPECT_TRUE(data["links"].empty());
  EXPECT_EQ(data["topology_note"],
            "no load: closed forms know no traffic of single links, and this step cannot be played "
            "in messages");
  EXPECT_EQ(data["jobs"], Json::array());
  EXPECT_TRUE(data["node"].is_null());  // a GPU by itself
  ASSERT_EQ(data["fabric"]["vertices"].size(), 5U);
  EXPECT_EQ(data["fabric"]["vertices"][4]["kind"], "switch");
  const Json& timeline = data["timeline"];
  EXPECT_EQ(timeline["tracks"], Json({"rank 0: compute", "rank 0: all-reduce"}));
  // Three layers forward and backward, three messages; conv's takes 2 ms from 42 ms on.
  ASSERT_EQ(timeline["spans"].size(), 9U);
  EXPECT_EQ(timeline["spans"][8], Json::parse(R"j([1, "conv", 42.0, 44.0, 1000000, 2])j"));
}

TEST(ReportData, KnowsTheLoadOfAnAnalyticStepFromItsMessages) {
  const Json data = data_of(
      R"({"strategy": {"aggregation": {"collective": {"type": "ring", "a": null, "b": null}}}})");
  ASSERT_EQ(data["links"].size(), 1U);
  // Each port carries 2 (N - 1) / N of the gradients' 5,004,000 B.
  EXPECT_EQ(data["links"][0]["bytes"], 7506000);
  EXPECT_EQ(data["topology_note"].get<std::string>().substr(0, 33),
            "load of the same step in messages");
}

// 65 are one more than are played.
TEST(ReportData, SaysWhyItKnowsNoLoadOfManyWorkers) {
  const Json data = data_of(
      R"({"cluster": {"nodes": 65},
          "strategy": {"aggregation": {"collective": {"type": "ring", "a": null, "b": null}}}})");
  EXPECT_EQ(data["topology_note"],
            "no load: closed forms know no traffic of single links, and messages are played for up "
            "to 64 workers, of which this run has 65");
  EXPECT_TRUE(data["links"].empty());
}

// Every job is there, and the network of both is drawn; a job of one worker sends nothing.
TEST(ReportData, HasEveryJobAndTheNetworkThatTheyShare) {
  const Json data = data_of(
      R"({"strategy": {"aggregation": {"collective": {"type": "ring", "a": null, "b": null}}},
          "jobs": [{"name": "a", "nodes": [0, 2]}, {"name": "b", "nodes": [1]}],
          "run": {"fidelity": "message"}})");
  EXPECT_EQ(data["workload"], "2 jobs on 4 nodes");
  EXPECT_EQ(data["jobs"], Json::parse(R"([
    {"workload": "tiny on test, batch 32 per worker", "nodes": [0, 2]},
    {"workload": "tiny on test, batch 32 per worker", "nodes": [1]}])"));
  // 42 ms, and conv's ring of two: twice 10 us and half of 1 MB over 1 GB/s.
  EXPECT_NEAR(data["result"]["jobs"][0]["step_time_s"].get<double>(), 0.04302, 1e-12);
  EXPECT_NEAR(data["result"]["jobs"][1]["step_time_s"].get<double>(), 0.042, 1e-12);
  EXPECT_EQ(data["result"]["workers"], 2);
  EXPECT_EQ(data["topology_note"], "no load: what several jobs send is not counted link by link");
  EXPECT_EQ(data["fabric"]["vertices"].size(), 5U);  // four nodes and their switch
}

TEST(ReportData, PlacesTheSweepsPointsOnItsAxes) {
  const Json data = data_of(
      R"({"sweep": {"/cluster/network/bandwidth": ["8 Gbps", "2 GB/s"],
                    "/strategy/schedule/type": ["wfbp", "sync-easgd", "none"]}})");
  const Json& axes = data["sweep"]["axes"];
  ASSERT_EQ(axes.size(), 2U);
  EXPECT_EQ(axes[0]["name"], "bandwidth");
  EXPECT_EQ(axes[0]["numbers"], Json({1e9, 2e9}));
  EXPECT_EQ(axes[1]["labels"], Json({"wfbp", "sync-easgd", "none"}));
  EXPECT_TRUE(axes[1]["numbers"].is_null());
  EXPECT_EQ(axes[0]["ticks"], Json::parse(R"([[1e9, "8 Gbps"], [2e9, "2 GB/s"]])"));
  EXPECT_TRUE(axes[1]["ticks"].is_null());
  const Json& rows = data["sweep"]["rows"];
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[3]["at"], Json({1, 0}));
  EXPECT_EQ(rows[3]["step_time_s"], 0.044);
  EXPECT_EQ(rows[3]["domain"], "unvalidated");
  EXPECT_NE(rows[5]["error"].get<std::string>().find("\"none\""), std::string::npos);
}

TEST(ReportData, RefusesASweepThatNoPageShows) {
  const TinyFolder folder;
  const auto config = load_document(
      folder.experiment(R"({"sweep": {"/run/seed": {"from": 1, "to": 2001, "plus": 1}}})"), {});
  EXPECT_EQ(message_of<InputError>([&] { report_data(config, 1); }),
            folder.path("x.json: /sweep: a report shows 2000 points at most, got 2001"));
}

}  // namespace
}  // namespace steptime
