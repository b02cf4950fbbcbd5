#include "sim/experiment/assessment.h"

#include "sim/experiment/read_experiment.h"
#include "tests/support/simulated.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string schedule_of(const std::string& patch) {
  const TinyFolder folder;
  const Experiment e = tiny_experiment(folder, patch);
  return prediction_of(e, simulate(e)).kind[Attribute::kSchedule].text();
}

TEST(Assessment, ALayoutIsAKindOfItsOwn) {
  EXPECT_EQ(schedule_of(R"({"strategy": {"layout": {}}})"), "layout");
  EXPECT_NE(schedule_of("{}"), "layout");
}

/// Two leaves with two nodes each, and a link of a tenth of a port's rate between them.
TEST(Assessment, SaysWhatTakesTheFabricForASwitch) {
  const auto domain = [](const std::string& bandwidth, const std::string& aggregation) {
    const TinyFolder folder;
    return simulate(tiny_experiment(folder, R"({"cluster": {"fabric": {"type": "graph",
        "vertices": [{"name": "a", "ports": [0, 1, 4]}, {"name": "b", "ports": [2, 3, 5]}],
        "links": [{"ends": ["a", "b"], "bandwidth": ")" +
                                                bandwidth +
                                                R"("}]}}, "strategy": {"aggregation": )" +
                                                aggregation + "}}"))
        .domain.text();
  };
  const std::string known = "a collective that is known by its time only knows no fabric";
  EXPECT_NE(domain("0.1 GB/s", "{}").find(known), std::string::npos);
  EXPECT_EQ(domain("2 GB/s", "{}").find(known), std::string::npos);
  const std::string servers = R"({"type": "parameter-server", "servers": 2, "collective": null})";
  EXPECT_NE(domain("0.1 GB/s", servers).find("closed forms of servers take the fabric"),
            std::string::npos);
  EXPECT_EQ(domain("2 GB/s", servers).find("closed forms of servers"), std::string::npos);
}

TEST(Assessment, SaysWhichPartsExtrapolate) {
  const TinyFolder folder;
  const Experiment plain = tiny_experiment(folder);
  EXPECT_EQ(extrapolated(plain, {}, true), std::vector<std::string>{});
  const Experiment planned = tiny_experiment(folder, R"({"strategy": {"schedule": "optimal"}})");
  EXPECT_EQ(extrapolated(planned, {}, true), std::vector<std::string>{});
  EXPECT_EQ(extrapolated(planned, {}, false).size(), 1u);
}

Prediction predicted(const std::string& text) {
  const Experiment e =
      read_experiment(std::make_shared<Document>(Document{"test.json", Json::parse(text)}));
  return prediction_of(e, simulate(e));
}

// Of the links that a message may take the slowest to answer: with one GPU a node that between
// them, on one node that inside.
TEST(Assessment, TheLatencyIsTheLongestThatMessagesMayMeet) {
  const auto latency_us = [](int nodes, int gpus, const char* inside) {
    const std::string text =
        R"({"name": "a", "workload": {"model": "torch/resnet50", "device": "v100", "batch": 32,
                                      "compute_time": "1 s"},
            "cluster": {"network": {"type": "switch", "latency": "20 us", "bandwidth": "1 GB/s"},
                        "intra_node": {"type": "switch", "latency": ")" +
        std::string(inside) + R"(", "bandwidth": "10 GB/s"}, "nodes": )" + std::to_string(nodes) +
        R"(, "gpus_per_node": )" + std::to_string(gpus) + "}}";
    return predicted(text).latency_s * 1e6;
  };
  EXPECT_NEAR(latency_us(2, 2, "1 us"), 20, 1e-9);
  EXPECT_NEAR(latency_us(2, 2, "50 us"), 50, 1e-9);
  EXPECT_NEAR(latency_us(2, 1, "50 us"), 20, 1e-9);
  EXPECT_NEAR(latency_us(1, 2, "1 us"), 1, 1e-9);
}

// 25gbe carries min(25 Gbit/s x 1460 / 1538, 30 Gbit/s) together: 2.9665 GB/s. Two servers get half
// of what four clients push each: twice a model's 102,228,128 B.
TEST(Assessment, PortsOfServersAreTheNetworksTime) {
  const Prediction p = predicted(R"({"name": "a",
    "workload": {"model": "torch/resnet50", "device": "v100", "batch": 32, "compute_time": "1 s"},
    "cluster": {"nodes": 4, "gpus_per_node": 1, "network": "25gbe"},
    "strategy": {"aggregation": {"type": "parameter-server", "servers": 2}}})");
  EXPECT_TRUE(p.has_servers);
  EXPECT_LT(p.slowest_rate, 1);
  EXPECT_GT(p.fastest_rate, 1);
  const double bytes = 25557032. * 4;
  EXPECT_NEAR(p.comm_busy_s, 4. / 2 * bytes / (25e9 / 8 * 1460 / 1538), 1e-9);
}

TEST(Assessment, AnIntervalHoldsTheMedianOfTheSeeds) {
  Result result;
  const Interval interval{1, 2};
  EXPECT_EQ(with_median(interval, result).high, 2);
  result.step_percentiles = Percentiles{.p50 = 2.5};
  EXPECT_EQ(with_median(interval, result).low, 1);
  EXPECT_EQ(with_median(interval, result).high, 2.5);
  result.step_percentiles = Percentiles{.p50 = 0.5};
  EXPECT_EQ(with_median(interval, result).low, 0.5);
}

TEST(Assessment, GpusOfAnotherGenerationAreNamed) {
  Cluster cluster;
  EXPECT_EQ(unlike_gpus("Blackwell", cluster), "");
  cluster.gpus = GpuNode{};
  cluster.gpus->compute_capability = 90;
  EXPECT_EQ(unlike_gpus("Blackwell", cluster),
            "compute times of Blackwell on a cluster of GPUs of compute capability 9.0");
  cluster.gpus->compute_capability = 103;
  EXPECT_EQ(unlike_gpus("Blackwell", cluster), "");
  cluster.gpus->compute_capability = 86;
  EXPECT_EQ(unlike_gpus("Ampere", cluster), "");
  cluster.gpus->compute_capability = 89;
  EXPECT_NE(unlike_gpus("Ampere", cluster), "");
}

}  // namespace
}  // namespace steptime
