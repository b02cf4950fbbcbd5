#include "sim/experiment/jobs.h"

#include "sim/core/error.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "tests/support/messages.h"
#include "tests/support/simulated.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kRing = R"({"strategy": {
    "aggregation": {"collective": {"type": "ring", "a": null, "b": null}}},
    "run": {"fidelity": "message"}})";

Experiment read(const TinyFolder& folder, const std::vector<std::string>& sets) {
  return read_experiment(load_document(folder.experiment(kRing), sets));
}

std::string repeated(const std::string& text, int times) {
  std::string all = text;
  for (int i = 1; i < times; ++i)
    all += ", " + text;
  return all;
}

/// Two leaves with two nodes each, and a link of 0.1 GB/s between them.
const std::string kThin = R"(/cluster/fabric={"type": "graph",
    "vertices": [{"name": "a", "ports": 2}, {"name": "b", "ports": 2}],
    "links": [{"ends": ["a", "b"], "bandwidth": "0.1 GB/s"}]})";

/// A ring of two for 1,000,000 B is two rounds of 10 us and 500,000 B: at 1 GB/s on one leaf, at
/// 0.1 GB/s on nodes of both.
TEST(ReadJobs, ClosedFormsAreThoseOfTheirNodes) {
  const TinyFolder folder;
  for (const bool swaps : {false, true}) {
    const Experiment e =
        read(folder, {kThin, swaps ? R"(/jobs=[{"nodes": [0, 2]}, {"nodes": [3]}])"
                                   : R"(/jobs=[{"nodes": [3, 2]}, {"nodes": [0]}])"});
    const double round = 10e-6 + (swaps ? 5e-3 : 0.5e-3);
    EXPECT_NEAR(to_seconds(e.collective->time({1'000'000})), 2 * round, 1e-11);
    EXPECT_NEAR(to_seconds(e.jobs->jobs[0].experiment->collective->time({1'000'000})), 2 * round,
                1e-11);
  }
}

TEST(ReadJobs, EachHasAClusterOfItsNodes) {
  const TinyFolder folder;
  const Experiment e = read(folder, {R"(/jobs=[{"nodes": [3, 0, 1]},
                         {"name": "b", "nodes": [2], "start": "2 s",
                          "workload": {"trace": "trace.json", "batch": 8}}])"});
  EXPECT_EQ(e.cluster->nodes, 3);
  EXPECT_EQ(e.jobs->network->nodes, 4);
  const Job& second = e.jobs->jobs[1];
  EXPECT_EQ(second.name, "b");
  EXPECT_EQ(second.start, std::chrono::seconds(2));
  EXPECT_EQ(second.experiment->cluster->nodes, 1);
  EXPECT_EQ(second.experiment->workload->workload.trace.batch, 8);
  EXPECT_EQ(e.jobs->jobs[0].experiment->workload->workload.trace.batch, 32);
  EXPECT_EQ(read(folder, {}).jobs, nullptr);
}

/// Node 3 of the cluster is the second one of a job on nodes 2 and 3.
TEST(ReadJobs, SlowGpusAreThoseOfTheCluster) {
  const TinyFolder folder;
  const Experiment e = read(folder, {R"(/jobs=[{"nodes": [0, 1]}, {"nodes": [2, 3]}])",
                                     R"(/run/variation={"gpus": [{"node": 3, "speed": 0.5}]})"});
  EXPECT_TRUE(e.run->variation.gpus.empty());
  const auto& gpus = e.jobs->jobs[1].experiment->run->variation.gpus;
  ASSERT_EQ(gpus.size(), 1U);
  EXPECT_EQ(gpus[0].node, 1);
}

TEST(ReadJobs, WhatIsWrongIsToldWhereItStands) {
  const TinyFolder folder;
  const auto refusal = [&](const std::string& jobs) {
    const std::string text = message_of<InputError>([&] { read(folder, {"/jobs=" + jobs}); });
    return text.substr(text.find(": ") + 2);
  };
  EXPECT_EQ(refusal("5"), "/jobs: expected a list, got 5");
  EXPECT_EQ(refusal("[" + repeated(R"({"nodes": [0]})", 1001) + "]"),
            "/jobs: expected at most 1000, got 1001");
  EXPECT_EQ(refusal("[]"), "/jobs: expected at least one, got []");
  EXPECT_EQ(refusal(R"([{"nodes": []}])"), "/jobs/0/nodes: expected at least one, got []");
  EXPECT_EQ(refusal(R"([{"nodes": [0]}, {"nodes": [1, 4]}])"),
            "/jobs/1/nodes: expected numbers from 0 to 3, got 4");
  EXPECT_EQ(refusal(R"([{"nodes": [0, 1]}, {"nodes": [2, 1]}])"),
            "/jobs/1/nodes: 1 is one of job 0 already");
  EXPECT_EQ(refusal(R"([{"nodes": [0]}, {"nodes": [1], "node": 2}])"),
            "/jobs/1/node: unknown key (did you mean \"nodes\"?); known: name, nodes, start, "
            "workload, strategy");
  // A terminal would turn red.
  EXPECT_EQ(refusal(R"([{"nodes": [0], "name": "a\u001b[31m"}])"),
            R"(/jobs/0/name: expected text without control characters, got "a\u001b[31m")");
  EXPECT_EQ(refusal(R"([{"nodes": [0], "name": ""}])"), R"(/jobs/0/name: expected a name, got "")");
  EXPECT_EQ(refusal(R"([{"nodes": [0], "name": "a"}, {"nodes": [1], "name": "a"}])"),
            R"(/jobs/1/name: expected another name than that of job 0, got "a")");
  // One without a name is called by its place.
  EXPECT_EQ(refusal(R"([{"nodes": [0]}, {"nodes": [1], "name": "job 0"}])"),
            R"(/jobs/1/name: expected another name than that of job 0, got "job 0")");
  for (const char* place : {"0", "1"}) {
    const std::string own = R"("workload": {"trace": "trace.json", "batch": 0})";
    EXPECT_EQ(refusal("[{\"nodes\": [0]" + (*place == '0' ? ", " + own : "") +
                      "}, {\"nodes\": [1]" + (*place == '1' ? ", " + own : "") + "}]"),
              "/jobs/" + std::string(place) +
                  "/workload/batch: must be at least 1 and at most 1000000000, got 0");
  }
}

}  // namespace
}  // namespace steptime
