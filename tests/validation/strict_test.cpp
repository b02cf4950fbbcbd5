// What lies outside all published steps is never `validated`.
#include "sim/collective/collective.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Validity domain_of(const Json& config) {
  return simulate(read_experiment(std::make_shared<Document>(Document{"t.json", config}))).domain;
}

/// What the record has most of: ResNet-50 with PyTorch DDP on nodes of V100, with the measured time
/// of one GPU.
Json plain() {
  return Json::parse(R"({"name": "plain",
    "workload": {"model": "torch/resnet50", "device": "v100", "batch": 32,
                 "compute_time": "98 ms"},
    "cluster": {"preset": "dgx-1-v100", "nodes": 2, "gpus_per_node": 4,
                "network": {"type": "hdr-infiniband", "bandwidth": "100 Gbps"},
                "gpus": {"nics": 1}},
    "strategy": {"transport": "nccl", "schedule": "fixed-buckets"}})");
}

Json with(const std::string& pointer, const Json& value) {
  Json config = plain();
  config[Json::json_pointer(pointer)] = value;
  return config;
}

TEST(Strict, WhatTheRecordCoversIsValidated) {
  EXPECT_TRUE(domain_of(plain()).is_validated()) << domain_of(plain()).text();
}

TEST(Strict, ALatencyOfThousandSeconds) {
  EXPECT_FALSE(domain_of(with("/cluster/network/latency", "1000 s")).is_validated());
}

// Inside the nodes, too, where NCCL's estimates have a latency of their own.
TEST(Strict, ALatencyOfThousandSecondsInsideNodes) {
  const Json inside{{"type", "switch"}, {"latency", "1000 s"}, {"bandwidth", "130 GB/s"}};
  Json config = with("/cluster/intra_node", inside);
  EXPECT_FALSE(domain_of(config).is_validated());
  config["cluster"]["nodes"] = 1;
  EXPECT_FALSE(domain_of(config).is_validated());
}

TEST(Strict, AMillionSamplesAWorker) {
  EXPECT_FALSE(domain_of(with("/workload/batch", 1000000)).is_validated());
}

// Alone it talks to nobody, and they still need more memory than there is.
TEST(Strict, AMillionSamplesOfOneWorker) {
  Json config = with("/workload/batch", 1000000);
  config["cluster"]["nodes"] = 1;
  config["cluster"]["gpus_per_node"] = 1;
  EXPECT_FALSE(domain_of(config).is_validated());
  config["workload"].erase("compute_time");
  EXPECT_FALSE(domain_of(config).is_validated());
}

TEST(Strict, AMillionLocalSteps) {
  Json config = with("/strategy/update", Json{{"type", "local-sgd"}, {"interval", 1000000}});
  EXPECT_FALSE(domain_of(config).is_validated());
}

// Three machines drawn as one node, with what joins them for its inside.
TEST(Strict, MachinesDrawnAsOneNode) {
  Json config = plain();
  config["cluster"] = Json::parse(
      R"({"nodes": 1, "gpus_per_node": 3, "network": {"type": "switch", "latency": "10 us",
          "bandwidth": "1 Gbps"}, "intra_node": {"type": "switch", "latency": "10 us",
          "bandwidth": "1 Gbps"}})");
  EXPECT_FALSE(domain_of(config).is_validated());
}

// Four nodes of four GPUs drawn as one of sixteen.
TEST(Strict, ANodeLargerThanAnyMeasured) {
  Json config = plain();
  config["cluster"] = Json::parse(
      R"({"nodes": 1, "gpus_per_node": 16, "network": {"type": "switch", "latency": "10 us",
          "bandwidth": "12 GB/s"}, "intra_node": {"type": "switch", "latency": "1 us",
          "bandwidth": "130 GB/s"}})");
  EXPECT_FALSE(domain_of(config).is_validated());
}

TEST(Strict, OneWorkerWithServersAndNoMeasurement) {
  const Json config = Json::parse(R"({"name": "one",
    "workload": {"model": "torch/resnet50", "device": "v100", "batch": 32,
                 "compute_time": "98 ms"},
    "cluster": {"preset": "switch", "nodes": 1},
    "strategy": {"aggregation": {"type": "parameter-server", "servers": 1}}})");
  EXPECT_FALSE(domain_of(config).is_validated());
}

// One that takes no time, as its author forgot to say any.
const bool kJustWritten = Collectives::instance().add(
    "just-written", "for tests", {},
    [](const Config&, const Cluster&) { return std::make_unique<LinearCollective>(LinearCost{}); });

TEST(Strict, ACollectiveThatNobodyMeasured) {
  ASSERT_TRUE(kJustWritten);
  for (const char* collective : {"just-written", "recursive-doubling"}) {
    Json config = plain();
    config["strategy"] = Json{{"aggregation", {{"type", "all-reduce"}, {"collective", collective}}},
                              {"schedule", "fixed-buckets"}};
    EXPECT_FALSE(domain_of(config).is_validated()) << collective;
    config["cluster"]["nodes"] = 1;
    EXPECT_FALSE(domain_of(config).is_validated()) << collective << " in one node";
  }
}

/// Whether both fidelities of a config are validated.
bool both_are_validated(Json config) {
  config["run"]["fidelity"] = "analytic";
  const bool closed = domain_of(config).is_validated();
  config["run"]["fidelity"] = "message";
  return closed && domain_of(config).is_validated();
}

TEST(Strict, FidelitiesThatDisagreeAreNotBothValidated) {
  Json tree = plain();
  tree["strategy"] = Json::parse(
      R"({"aggregation": {"type": "all-reduce", "collective": "binary-tree"},
          "transport": {"type": "mpi", "streams": 4}, "schedule": "wfbp"})");
  EXPECT_FALSE(both_are_validated(tree));
  Json rings = plain();
  rings["cluster"] = Json::parse(R"({"preset": "dgx-1-v100", "nodes": 1})");
  rings["strategy"] = Json::parse(
      R"({"aggregation": {"type": "all-reduce",
                          "collective": {"type": "multi-ring", "links": "own"}},
          "schedule": "wfbp"})");
  EXPECT_FALSE(both_are_validated(rings));
  // Of the kind that tensorflow.org's published steps are of.
  const Json servers = Json::parse(R"({"name": "servers",
    "workload": {"model": "tf/resnet50", "device": "k80", "batch": 64, "compute_time": "1.2 s"},
    "cluster": {"nodes": 1, "gpus_per_node": 8,
                "network": {"type": "switch", "latency": "10 us", "bandwidth": "12 GB/s"},
                "intra_node": {"type": "switch", "latency": "10 us", "bandwidth": "12 GB/s"}},
    "strategy": {"aggregation": {"type": "parameter-server", "servers": 1,
                 "placement": "with-workers", "requests": "next-step"}}})");
  EXPECT_FALSE(both_are_validated(servers));
}

}  // namespace
}  // namespace steptime
