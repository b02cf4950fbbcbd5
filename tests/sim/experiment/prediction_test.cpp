// Is what a domain depends on that of the experiment and its result?
#include "sim/experiment/prediction.h"

#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Prediction predicted(const std::string& text) {
  const Experiment e =
      read_experiment(std::make_shared<Document>(Document{"test.json", Json::parse(text)}));
  return prediction_of(e, simulate(e), {});
}

// 25gbe carries min(25 Gbit/s x 1460 / 1538, 30 Gbit/s) together: 2.9665 GB/s. Two servers get half
// of what four clients push each: twice a model's 102,228,128 B.
TEST(Prediction, PortsOfServersAreTheNetworksTime) {
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

// Of the links that a message may take the slowest to answer: with one GPU a node that between
// them, on one node that inside.
TEST(Prediction, TheLatencyIsTheLongestThatMessagesMayMeet) {
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

TEST(Prediction, AnIntervalHoldsTheMedianOfTheSeeds) {
  Result result;
  const Interval interval{1, 2};
  EXPECT_EQ(with_median(interval, result).high, 2);
  result.step_percentiles = Percentiles{.p50 = 2.5};
  EXPECT_EQ(with_median(interval, result).low, 1);
  EXPECT_EQ(with_median(interval, result).high, 2.5);
  result.step_percentiles = Percentiles{.p50 = 0.5};
  EXPECT_EQ(with_median(interval, result).low, 0.5);
}

}  // namespace
}  // namespace steptime
