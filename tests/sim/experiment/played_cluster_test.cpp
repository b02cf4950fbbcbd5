// Of the tiny experiment, whose 4 nodes are joined by 10 us and 1 GB/s, with a ring: an
// all-reduce of M bytes takes 6 (10 us + M / 4 GB/s).
#include "sim/experiment/played_cluster.h"

#include "sim/core/error.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "tests/support/messages.h"
#include "tests/support/simulated.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kRing = R"({"cluster": {"network": {"latency": "10 us"}}, "strategy": {
    "schedule": "sync-easgd",
    "aggregation": {"collective": {"type": "ring", "a": null, "b": null}}},
    "run": {"fidelity": "message"}})";

Experiment read(const TinyFolder& folder, const std::vector<std::string>& sets) {
  return read_experiment(load_document(folder.experiment(kRing), sets));
}
double step_s(const TinyFolder& folder, const std::vector<std::string>& sets) {
  return simulate(read(folder, sets)).step_time_s;
}

/// All gradients, 5,004,000 B, after the backward pass at 42 ms. Node 1 sends and receives in
/// every round over its slow link, and the others wait for it: as if all links were slow.
TEST(PlayedCluster, ARingGoesAtThePaceOfItsSlowestLink) {
  const TinyFolder folder;
  const auto ring = [](double factor) { return 0.042 + 6 * (10e-6 + 1.251e-3 * factor); };
  EXPECT_NEAR(step_s(folder, {}), ring(1), 1e-9);
  EXPECT_NEAR(step_s(folder, {R"(/run/slow_links={"factor": 3, "nodes": [1]})"}), ring(3), 1e-9);
  EXPECT_NEAR(step_s(folder, {R"(/run/slow_links={"factor": 3, "chance": 1})"}), ring(3), 1e-9);
  EXPECT_NEAR(step_s(folder, {R"(/run/slow_links={"factor": 3, "chance": 0})"}), ring(1), 1e-9);
}

/// A server on a node of its own takes 4 pushes of 5.004 MB over its port one beside the other,
/// and sends 4 pulls; a client's link that is 3 times as slow is not slower than a quarter of that.
TEST(PlayedCluster, ASlowClientMayHideBehindItsServer) {
  const TinyFolder folder;
  const std::vector<std::string> servers{
      R"(/strategy/aggregation={"type": "parameter-server", "servers": 1})"};
  const double undisturbed = step_s(folder, servers);
  const auto with = [&](double factor) {
    auto sets = servers;
    sets.push_back(fmt::format(R"(/run/slow_links={{"factor": {}, "nodes": [1]}})", factor));
    return step_s(folder, sets);
  };
  EXPECT_NEAR(with(3), undisturbed, 1e-9);
  EXPECT_GT(with(8), undisturbed + 0.02);  // 5.004 MB at 1/8 GB/s take 20 ms more each way
}

/// 42 ms of compute on GPUs of which one has 0.8 of the others' speed, for which all wait; then the
/// ring as before.
TEST(PlayedCluster, AllWaitForTheSlowestGpu) {
  const TinyFolder folder;
  const double ring = 6 * (10e-6 + 1.251e-3);
  for (const char* fidelity : {"analytic", "message"}) {
    EXPECT_NEAR(step_s(folder, {fmt::format("/run/fidelity={}", fidelity),
                                R"(/run/variation={"gpus": [{"node": 2, "speed": 0.8}]})"}),
                0.042 / 0.8 + ring, 1e-9)
        << fidelity;
  }
}

/// In MXNet's engine, whose ranks wait for each other, too.
TEST(PlayedCluster, AnEnginesGpusHaveNamesToo) {
  const TinyFolder folder;
  const auto engine = [&](const char* speed) {
    return step_s(
        folder, {"/strategy/embedding=funnel", "/strategy/schedule=wfbp",
                 fmt::format(R"(/run/variation={{"gpus": [{{"node": 3, "speed": {}}}]}})", speed)});
  };
  EXPECT_NEAR(engine("0.5") - engine("1"), 0.042, 0.005);
}

TEST(PlayedCluster, TheResultSaysSo) {
  const TinyFolder folder;
  const auto beyond = [&](const std::vector<std::string>& sets) {
    return simulate(read(folder, sets)).domain.text();
  };
  constexpr const char* kReason = "which links are slow is the experiment's own";
  EXPECT_EQ(beyond({}).find(kReason), std::string::npos);
  EXPECT_NE(beyond({R"(/run/slow_links={"factor": 3, "nodes": [1]})"}).find(kReason),
            std::string::npos);
}

TEST(PlayedCluster, IsRefusedWhereItWouldMakeNoDifference) {
  const TinyFolder folder;
  const auto refusal = [&](const std::vector<std::string>& sets) {
    const std::string text = message_of<InputError>([&] { read(folder, sets); });
    return text.substr(text.find("/run"));
  };
  const std::string slow = R"(/run/slow_links={"factor": 3, "nodes": [1]})";
  EXPECT_EQ(refusal({slow, "/run/fidelity=analytic"}),
            "/run/slow_links: closed forms know no link by itself; expected \"message\" under "
            "/run/fidelity");
  EXPECT_EQ(refusal({slow, "/cluster/nodes=1"}),
            "/run/slow_links: is about links between nodes; expected several nodes");
  EXPECT_EQ(refusal({slow, "/run/slow_links/nodes=[4]"}),
            "/run/slow_links/nodes: expected 0 to 3, got 4");
  EXPECT_EQ(refusal({R"(/run/slow_links={"adapters": [{"node": 4, "factor": 2}]})"}),
            "/run/slow_links/adapters/0/node: expected 0 to 3, got 4");
  EXPECT_EQ(refusal({R"(/run/slow_links={"adapters": [{"node": 3, "factor": 2},
                                                      {"node": 3, "adapter": 1, "factor": 2}]})"}),
            "/run/slow_links/adapters/1/adapter: expected 0 to 0, got 1");
  EXPECT_EQ(refusal({R"(/run/variation={"gpus": [{"node": 0, "speed": 0.5},
                                                 {"node": 4, "speed": 0.5}]})"}),
            "/run/variation/gpus/1/node: expected 0 to 3, got 4");
  EXPECT_EQ(refusal({R"(/run/variation={"gpus": [{"node": 0, "gpu": 1, "speed": 0.5}]})"}),
            "/run/variation/gpus/0/gpu: expected 0 to 0, got 1");
  const std::string failures = R"(/run/failures={"steps": 9, "checkpoint": "1 s", "restart": "1 s",
      "per_node_and_day": 0, "nodes": [{"node": 4, "after": "1 h"}]})";
  EXPECT_EQ(refusal({failures}),
            "/run/failures/interval: required where no node fails by chance, as no interval is the "
            "best then");
  EXPECT_EQ(refusal({failures, "/run/failures/interval=1 h"}),
            "/run/failures/nodes/0/node: expected 0 to 3, got 4");
}

}  // namespace
}  // namespace steptime
