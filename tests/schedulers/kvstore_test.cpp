#include "sim/core/error.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result.h"
#include "sim/experiment/runs/execution_of.h"
#include "sim/experiment/simulate.h"
#include "tests/support/training.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

constexpr const char* kMessage = R"({"fidelity": "message"})";

/// `gpus` GPUs of one node without latency, 1 GB/s each, on one PCIe switch, which has 1 GB/s to
/// the host.
std::shared_ptr<const Cluster> node(std::int64_t gpus, double gamma = 0) {
  auto graph = std::make_shared<Topology>();
  const auto plx = graph->add_vertex("plx", VertexKind::kPcieSwitch);
  const auto memory = graph->add_vertex("memory", VertexKind::kHostMemory);
  graph->add_link({plx, memory, Duration{}, {1e9}});
  for (std::int64_t g = 0; g < gpus; ++g)
    graph->add_link(
        {graph->add_vertex(fmt::format("g{}", g), VertexKind::kGpu), plx, Duration{}, {1e9}});
  return std::make_shared<Cluster>(Cluster{.nodes = 1,
                                           .gpus_per_node = gpus,
                                           .network = {Duration{}, {1e9}},
                                           .intra_node = {Duration{}, {1e9}},
                                           .reduction = {gamma},
                                           .node = graph});
}

enum class Compute { kTwoSeconds, kNone };

/// Two layers of 4 MB, both there after all compute.
Result played(std::shared_ptr<const Cluster> cluster, const std::string& more = "",
              const std::string& run = kMessage, Compute compute = Compute::kTwoSeconds) {
  Experiment e{.name = "test"};
  Workload workload = two_layers()->workload;
  workload.trace.layers[0].backward = Duration{};
  if (compute == Compute::kNone) {
    for (Layer& layer : workload.trace.layers)
      layer.forward = layer.backward = Duration{};
  }
  e.workload = std::make_shared<PreparedWorkload>(std::move(workload));
  e.machines = std::move(cluster);
  const std::string aggregation = R"({"type": "kvstore")" + more + "}";
  const auto document = std::make_shared<Document>(
      Document{"x.json", Json{{"name", "test"},
                              {"strategy", parse_json(strategy(aggregation, kSgd, "wfbp"), "x")},
                              {"run", parse_json(run, "x")}}});
  for (const Part part : {Part::kTransport, Part::kCollective, Part::kSchedule, Part::kRun})
    read_part(document, part, e);
  e.execution = &execution_of(e);
  return simulate(e);
}
double exposed_ms(std::shared_ptr<const Cluster> cluster, const std::string& more = "",
                  const std::string& run = kMessage) {
  return played(std::move(cluster), more, run).exposed_comm_s * 1e3;
}

TEST(Kvstore, EachGpuMergesHalf) {
  // GPU 0 copies key one to GPU 1 and, when it has added up key two, that one too: 4 ms + 4 ms in
  // each direction.
  EXPECT_NEAR(exposed_ms(node(2)), 8, 1e-9);
  EXPECT_NEAR(exposed_ms(node(2), "", "{}"), 8, 1e-9);  // analytic: nothing but the ports
}

TEST(Kvstore, AddingUpTakesNMinusOneAdditions) {
  // Three GPUs: GPU 0 and 1 merge one key each; both get two copies of 4 MB, 8 ms; 2 * 4 MB at
  // 1 ns/B take 8 ms; two copies back, 8 ms.
  EXPECT_NEAR(exposed_ms(node(3, 1e-9)), 8 + 8 + 8, 1e-9);
}

TEST(Kvstore, TheHostsLinkIsShared) {
  // 4 GPUs with one copy thread each: key two goes up in 4 * 4 ms. The threads, free at that
  // moment, take what is there, key one, and then bring down key two, and key one: all threads work
  // in the same direction, and the link never carries both.
  const double one_thread = exposed_ms(node(4), R"(, "merge": "local", "copy_threads": 1)");
  EXPECT_NEAR(one_thread, 4 * 16, 1e-9);
  // With two threads both keys go up together, 32 ms, and down together.
  EXPECT_NEAR(exposed_ms(node(4), R"(, "merge": "local")"), 2 * 32, 1e-9);
}

TEST(Kvstore, OneGpuHasNothingToAddUp) {
  EXPECT_EQ(exposed_ms(node(1)), 0);
}

/// `servers` on the host of the one node, beside other keys of the kvstore.
std::string with_servers(int servers, const std::string& more) {
  return R"(, "servers": )" + std::to_string(servers) + R"(, "placement": "with-workers")" + more;
}

TEST(Kvstore, ASumGoesToItsHostsServerAndBack) {
  // 2 GPUs merge a key each, 4 MB: a copy to the merging GPU, one of the sum to the host, one back
  // and one to the other GPU, 4 ms each. In messages the copies of the two sums share the switch's
  // one link to the host; the closed ports know the GPUs' links alone.
  for (const char* run : {kMessage, "{}"}) {
    const bool shares = run == kMessage;
    EXPECT_NEAR(exposed_ms(node(2), with_servers(1, ""), run), shares ? 4 + 8 + 8 + 4 : 4 * 4,
                1e-9);
  }
}

TEST(Kvstore, AServersThreadReceivesUpdatesAndSends) {
  // Sums on the host: 2 GPUs push 2 * 8 MB over its link, key by key with one copy thread, and get
  // them back, 8 ms a key each way. In between the server works 4 ms on a key's bytes in, 2 ms on
  // their change and 4 ms on bytes out. Key two is at the host after 8 ms and pushed and pulled
  // until 18; key one is there after 16, pushed until 24 and pulled until 28.
  const std::string costs = R"(, "merge": "local", "copy_threads": 1, "rate": "1 GB/s",
                               "update_cost": "0.5 ns/B")";
  EXPECT_NEAR(exposed_ms(node(2), with_servers(1, costs), kMessage), 28 + 8, 1e-9);
  // Two servers have half of each key: two is back at the host at 13 and goes down when the threads
  // have brought up one, 16 to 24; one, which the servers have from 16 to 21, behind it.
  EXPECT_NEAR(exposed_ms(node(2), with_servers(2, costs), kMessage), 24 + 8, 1e-9);
}

TEST(Kvstore, AClientsThreadSendsAndReceivesInTurn) {
  // As above with the thread of the process, 4 ms a key each way, and nothing else: 8 to 12 out
  // two, 12 to 16 in two, 16 to 20 out one, 20 to 24 in one, which goes back until 24 + 8.
  const std::string thread = R"(, "merge": "local", "copy_threads": 1, "client_rate": "1 GB/s")";
  EXPECT_NEAR(exposed_ms(node(2), with_servers(1, thread), kMessage), 24 + 8, 1e-9);
}

TEST(Kvstore, AServerOfMxnet17TakesWhatWaitsFromAHeap) {
  // Two nodes push keys two and one at once; links take 1 ms and no time for bytes, the server's
  // thread 10 ms for each request. Copied and pushed at 2, in their order the four pushes are done
  // at 42 and the four requests to pull, the first of which are there by then, at 82. Pulled and
  // copied: 84.
  // From a heap: push two of node 0 until 12; of the three that wait one of 1, one of 0 until 32,
  // two of 1 until 42. Of the requests for one, there at 34, that of node 1 until 52; of one for
  // node 0 and those for two, there at 44, two for 1 until 62. Node 1 has both, and its next pushes
  // are there at 66: after two for 0, until 72, they pass one for 0, which is done at 102: 104.
  const auto cold_ms = [](const char* release) {
    auto cluster = std::make_shared<Cluster>(*node(1));
    cluster->nodes = 2;
    cluster->node = nullptr;
    cluster->network = cluster->intra_node = {milliseconds(1), {1e18}};
    const std::string more =
        fmt::format(R"(, "servers": 1, "request_time": "10 ms", "release": "{}")", release);
    return *played(cluster, more, kMessage, Compute::kNone).cold_step_time_s * 1e3;
  };
  EXPECT_NEAR(cold_ms("1.6.0"), 84, 1e-4);
  EXPECT_NEAR(cold_ms("1.7.0"), 104, 1e-4);
}

TEST(Kvstore, OneGpuANodeIsAParameterServersClient) {
  // The copies between a GPU and its host take nothing where links inside are fast. Both keys as
  // one message to each server; closed ports take the parts for several servers side by side for
  // parameter-server alone.
  for (const char* update : {kSgd.c_str(), kAsgd.c_str()}) {
    for (const auto& [run, servers] : {std::pair(kMessage, "2"), {"{}", "1"}}) {
      const auto time = [&, run = run](const std::string& aggregation) {
        Experiment e = training_experiment(strategy(aggregation, update), 3, run);
        auto cluster = std::make_shared<Cluster>(*e.cluster);
        cluster->intra_node = {Duration{}, {1e18}};
        e.cluster = cluster;
        return simulate(e).step_time_s;
      };
      const std::string more =
          std::string(
              R"(, "rate": "3 GB/s", "request_time": "1 ms", "update_cost": "0.2 ns/B", )") +
          R"("servers": )" + servers + "}";
      EXPECT_NEAR(time(R"({"type": "kvstore", "threads": 1)" + more),
                  time(R"({"type": "parameter-server")" + more), 1e-9)
          << update << run;
    }
  }
}

/// What each of `nodes` nodes with 3 GPUs has learnt in 2 epochs of a bowl.
std::vector<double> learnt(const std::string& aggregation, const std::string& update,
                           std::int64_t nodes, const char* run) {
  const Convergence c{
      .problem = make<Problem>(R"({"type": "quadratic", "samples": 960, "noise": 1})"),
      .epochs = 2,
      .batch = 4,
      .learning_rate = 0.01,
      .momentum = 0.9};
  Experiment e = training_experiment(strategy(kRing, kSgd, "wfbp"), nodes, run);
  auto cluster = std::make_shared<Cluster>(*e.cluster);
  cluster->gpus_per_node = 3;
  e.machines = cluster;
  const auto document = std::make_shared<Document>(
      Document{"x", Json{{"strategy", parse_json(strategy(aggregation, update), "x")}}});
  for (const Part part : {Part::kTransport, Part::kCollective})
    read_part(document, part, e);
  e.execution = &execution_of(e);
  const Played played(e, c);
  for (std::int64_t w = 1; w < 3; ++w)
    EXPECT_EQ(played.client(w), played.client(0)) << w;
  return played.client(0);
}

TEST(Kvstore, SynchronousNodesLearnAsOneMachineDoes) {
  // The sum over all workers, by rank, whoever adds it up: the same bits at both fidelities.
  const auto servers = learnt(R"({"type": "parameter-server", "servers": 2})", kSgd, 2, "{}");
  for (const char* run : {kMessage, "{}"}) {
    EXPECT_EQ(learnt(R"({"type": "kvstore", "servers": 2})", kSgd, 2, run), servers);
    EXPECT_EQ(learnt(R"({"type": "kvstore", "merge": "local", "servers": 3})", kSgd, 2, run),
              servers);
  }
}

TEST(Kvstore, AnAsynchronousNodeAloneIsASynchronousOne) {
  // Its server applies the sum over the node's workers, each push once.
  for (const char* run : {kMessage, "{}"}) {
    EXPECT_EQ(learnt(R"({"type": "kvstore", "servers": 2})", kAsgd, 1, run),
              learnt(R"({"type": "kvstore", "servers": 2})", kSgd, 1, run));
  }
  EXPECT_NE(learnt(R"({"type": "kvstore", "servers": 2})", kAsgd, 2, "{}"),
            learnt(R"({"type": "kvstore", "servers": 2})", kSgd, 2, "{}"));
}

TEST(Kvstore, AThreadIssuesPushesAndPullsInOrderOfKeys) {
  // 2 GPUs, 4 ms a key each way; gradients are there from the start. Pushes first: one at 10, two
  // at 20, pulls at 30 and 40, the last key is back at 44. By key: one at 10 and 20, two at 30 and
  // 40: 44, too; with an updater of 5 ms in each push 54. The thread goes on with the next step at
  // once, whose calls hide the last copy: 40 and 50.
  const auto issued = [&](const char* time, const char* more) {
    const std::string issue = R"(, "issue_time": ")" + std::string(time) + '"';
    return played(node(2), issue + more, kMessage, Compute::kNone);
  };
  const auto cold_ms = [](const Result& result) { return *result.cold_step_time_s * 1e3; };
  const Result pushes_first = issued("10 ms", R"(, "calls": "pushes-first")");
  EXPECT_NEAR(cold_ms(pushes_first), 44, 1e-9);
  EXPECT_NEAR(pushes_first.step_time_s * 1e3, 40, 1e-9);
  EXPECT_NEAR(cold_ms(issued("10 ms", "")), 44, 1e-9);
  const Result updated = issued("10 ms", R"(, "updater_time": "5 ms")");
  EXPECT_NEAR(cold_ms(updated), 54, 1e-9);
  EXPECT_NEAR(updated.step_time_s * 1e3, 50, 1e-9);
  // Pushes first, at 1 and 2: one is added up at 5 and goes back on the link on which a quarter of
  // two is still to come, until 7; two is back at 11. By key, at 1 and 3: half of two is to come,
  // until 9, and it is back at 13.
  EXPECT_NEAR(cold_ms(issued("1 ms", R"(, "calls": "pushes-first")")), 11, 1e-9);
  EXPECT_NEAR(cold_ms(issued("1 ms", "")), 13, 1e-9);
  // A step of 2 s hides them all.
  EXPECT_NEAR(exposed_ms(node(2), R"(, "issue_time": "10 ms")"), 8, 1e-9);
}

TEST(Kvstore, WhatDoesNotGoTogetherIsRefused) {
  const auto text = [](const std::string& more, const std::string& update, std::int64_t nodes) {
    auto cluster = std::make_shared<Cluster>(*node(2));
    cluster->nodes = nodes;
    Experiment e{.name = "test", .machines = cluster};
    const Json strategies =
        parse_json(strategy(R"({"type": "kvstore")" + more + "}", update), "x.json");
    const auto document =
        std::make_shared<Document>(Document{"x.json", Json{{"strategy", strategies}}});
    try {
      for (const Part part : {Part::kTransport, Part::kCollective})
        read_part(document, part, e);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(text("", kSgd, 2),
            "x.json: /strategy/aggregation/servers: 2 nodes need servers to meet at, got 0");
  EXPECT_EQ(text(R"(, "rate": "1 GB/s")", kSgd, 1),
            "x.json: /strategy/aggregation/rate: there are no servers, which it is about");
  EXPECT_EQ(text(R"(, "release": "1.7.0")", kSgd, 1),
            "x.json: /strategy/aggregation/release: there are no servers, which it is about");
  EXPECT_EQ(text(R"(, "servers": 1, "updater_time": "1 us")", kSgd, 2),
            "x.json: /strategy/aggregation/updater_time: with servers the optimizer runs on these: "
            "request_time, update_cost");
  EXPECT_EQ(
      text(R"(, "servers": 1, "server_sharding": {"type": "byteps"})", kSgd, 2),
      "x.json: /strategy/aggregation/server_sharding: places what is sent as one, but kvstore "
      "merges and sends keys");
  for (const char* key : {"sharding", "server_sharding"}) {
    EXPECT_EQ(text(fmt::format(R"(, "servers": 1, "{}": {{"type": "greedy",
                                                          "moving_averages": true}})",
                               key),
                   kSgd, 2),
              fmt::format("x.json: /strategy/aggregation/{}: places moving averages, but MXNet "
                          "keeps those out of its kvstore",
                          key));
  }
  EXPECT_EQ(
      text(R"(, "servers": 1)", R"({"type": "esgd"})", 2),
      "x.json: /strategy/update: esgd exchanges parameters, which a kvstore's nodes would add "
      "up");
  EXPECT_EQ(text("", kAsgd, 1),
            "x.json: /strategy/update: asgd needs parameter servers, as workers meet nowhere else; "
            "choose parameter-server, or hybrid or kvstore with servers");
  EXPECT_EQ(text(R"(, "threads": {})", kSgd, 1).substr(0, 38),
            "x.json: /strategy/aggregation/threads:");
  EXPECT_EQ(text(R"(, "servers": 1)", kAsgd, 2), "");
}

}  // namespace
}  // namespace steptime
