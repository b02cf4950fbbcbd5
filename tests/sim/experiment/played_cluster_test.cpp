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
}

}  // namespace
}  // namespace steptime
