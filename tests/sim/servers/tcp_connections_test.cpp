// Do collectives over TCP have as many connections as their library opens?
#include "sim/servers/tcp_connections.h"

#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "tests/support/config_text.h"

#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Two hosts with 100GbE: a connection carries 10 Gbit/s, a host 30.
Experiment over(const std::string& network, const std::string& strategy) {
  const std::string text = fmt::format(
      R"({{"name": "x", "workload": {{"trace": "{}/traces/k80/googlenet.json"}},
          "cluster": {{"nodes": 2, "gpus_per_node": 1, "network": {{"type": "{}"}}}},
          "strategy": {{{}}}}})",
      STEPTIME_SOURCE_DIR, network, strategy);
  return read_experiment(std::make_shared<Document>(Document{"x.json", Json::parse(text)}));
}
double gbit(const std::string& network, const std::string& strategy) {
  return over(network, strategy).cluster->network.bandwidth.bytes_per_second * 8e-9;
}

TEST(TcpConnections, GpusThatNameNoLibraryHaveNccls) {
  EXPECT_NEAR(gbit("100gbe", ""), 20, 1e-9);
  EXPECT_NEAR(gbit("100gbe", R"("aggregation": {"type": "all-reduce"})"), 20, 1e-9);
  EXPECT_NEAR(
      gbit("100gbe", R"("aggregation": {"type": "all-reduce", "collective": {"type": "ring"}})"),
      20, 1e-9);
}

/// Also when all that stands there by default has been written out.
TEST(TcpConnections, DefaultsNameNoLibrary) {
  for (const char* strategy : {R"({})", R"({"transport": "mpi"})"}) {
    const Json stated{{"name", "x"},
                      {"workload", {{"model", "resnet50"}, {"device", "v100"}, {"batch", 64}}},
                      {"cluster", {{"nodes", 2}, {"network", "25gbe"}}},
                      {"strategy", Json::parse(strategy)}};
    const auto bandwidth = [](const Json& config) {
      return read_experiment(std::make_shared<Document>(Document{"x.json", config}))
          .cluster->network.bandwidth.bytes_per_second;
    };
    EXPECT_EQ(bandwidth(resolved(stated)), bandwidth(stated)) << strategy;
  }
}

TEST(TcpConnections, ALibrarysNameDecides) {
  EXPECT_NEAR(gbit("100gbe", R"("transport": {"type": "nccl"},
      "aggregation": {"type": "all-reduce", "collective": {"type": "ring"}})"),
              20, 1e-9);
  EXPECT_NEAR(gbit("100gbe", R"("transport": {"type": "mpi"})"), 10, 1e-9);
  EXPECT_NEAR(gbit("100gbe", R"("transport": "horovod-mpi")"), 10, 1e-9);
  EXPECT_NEAR(gbit("100gbe", R"("aggregation": {"type": "all-reduce", "collective": "openmpi"})"),
              10, 1e-9);
}

/// 10 Gbit/s of Ethernet are what one connection carries: nothing changes. 40: two carry 20.
TEST(TcpConnections, NoMoreThanTheLine) {
  EXPECT_EQ(gbit("10gbe", ""), gbit("10gbe", R"("transport": {"type": "mpi"})"));
  EXPECT_NEAR(gbit("40gbe", ""), 20, 1e-9);
  EXPECT_NEAR(gbit("25gbe", ""), 20, 1e-9);
}

/// Whatever opens one connection or many, a host with 100GbE carries 30 Gbit/s.
TEST(TcpConnections, AClusterHasOneFabric) {
  for (const char* strategy : {"", R"("transport": {"type": "mpi"})",
                               R"("aggregation": {"type": "parameter-server", "servers": 2})"})
    EXPECT_NEAR(over("100gbe", strategy).exchange_kind->rate * 8, 30e9, 1) << strategy;
}

/// At both fidelities: an all-reduce of two ranks is bound by the same rate.
TEST(TcpConnections, MessagesHaveThemToo) {
  const auto seconds = [](const std::string& strategy, const std::string& fidelity) {
    Experiment experiment = over("100gbe", strategy);
    auto run = std::make_shared<RunSettings>(*experiment.run);
    run->fidelity = fidelity == "message" ? Fidelity::kMessage : Fidelity::kAnalytic;
    experiment.run = run;
    return simulate(experiment).step_time_s;
  };
  const std::string mpi = R"("transport": {"type": "mpi"})";
  EXPECT_NEAR(seconds("", "message"), seconds("", "analytic"), 1e-9);
  EXPECT_NEAR(seconds(mpi, "message"), seconds(mpi, "analytic"), 1e-9);
  EXPECT_LT(seconds("", "message"), seconds(mpi, "message"));
}

}  // namespace
}  // namespace steptime
