#include "sim/servers/aggregation.h"

#include "sim/network/read_cluster.h"
#include "tests/support/training.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string message_of(const std::string& strategy_text, std::int64_t workers = 4) {
  try {
    training_experiment(strategy_text, workers);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Aggregation, AsynchronousUpdatesNeedServers) {
  EXPECT_EQ(message_of(strategy(kRing, kAsgd)),
            "x.json: /strategy/update: asgd needs parameter servers, as workers meet nowhere else; "
            "choose parameter-server, or hybrid or kvstore with servers");
  EXPECT_EQ(message_of(strategy(R"({"type": "hybrid", "clients": 1, "servers": 0})",
                                R"({"type": "esgd"})")),
            "x.json: /strategy/update: esgd needs parameter servers, which hold the centre; choose "
            "parameter-server, or hybrid with servers");
}

TEST(Aggregation, ElasticClientsPullInTheStepThatPushes) {
  EXPECT_EQ(message_of(strategy(R"({"type": "parameter-server", "servers": 1,
                                    "requests": "next-step"})",
                                R"({"type": "esgd"})")),
            "x.json: /strategy/update: esgd pulls in the step that pushes; choose other requests "
            "than \"next-step\"");
}

TEST(Aggregation, ASpreadNeedsServers) {
  EXPECT_EQ(message_of(strategy(R"({"type": "hybrid", "clients": 1, "servers": 0,
                                    "spread": {"type": "all-gather"}})",
                                kSgd)),
            "x.json: /strategy/aggregation/spread: without servers nothing is pulled");
}

TEST(Aggregation, ClientsShareWorkersEvenly) {
  EXPECT_EQ(message_of(strategy(R"({"type": "hybrid", "clients": 3, "servers": 1})", kSgd)),
            "x.json: /strategy/aggregation/clients: 3 clients cannot share 4 workers evenly");
  EXPECT_EQ(message_of(strategy(R"({"type": "hybrid", "clients": 8, "servers": 1})", kSgd)),
            "x.json: /strategy/aggregation/clients: 8 clients cannot share 4 workers evenly");
}

TEST(Aggregation, AClientFillsNodes) {
  const Params none;
  const auto document = std::make_shared<Document>(Document{"x.json", Json::object()});
  const Config config(document, none);
  const Cluster cluster{.nodes = 6, .gpus_per_node = 2};
  const Cluster node = client_cluster(cluster, 6, config);
  EXPECT_EQ(node.nodes, 1);
  EXPECT_EQ(node.gpus_per_node, 2);
  const Cluster three = client_cluster(cluster, 2, config);
  EXPECT_EQ(three.nodes, 3);
  EXPECT_EQ(three.gpus_per_node, 2);
  EXPECT_EQ(client_cluster(cluster, 12, config).workers(), 1);
  EXPECT_THROW(client_cluster(cluster, 4, config), InputError);  // 3 workers: a node and a half
}

TEST(Aggregation, ServerCostIsTheIncastBothWays) {
  const Cluster cluster{.nodes = 8, .network = {std::chrono::milliseconds(1), {1e9}}};
  ServerGroup servers{.count = 2, .requests = &requests_named("pushpull")};
  // 8 M / 2 servers * 1 ns/B, there and back.
  EXPECT_DOUBLE_EQ(server_cost(cluster, 8, servers).b.seconds_per_byte, 8e-9);
  EXPECT_EQ(server_cost(cluster, 8, servers).a, std::chrono::milliseconds(2));
  servers.rate = Bandwidth{1e8};  // one thread for both ways: 8 M / 2 * 2 * 10 ns/B
  servers.requests = &requests_named("push-pull");
  EXPECT_DOUBLE_EQ(server_cost(cluster, 8, servers).b.seconds_per_byte, 8e-8);
  EXPECT_EQ(server_cost(cluster, 8, servers).a, std::chrono::milliseconds(4));
}

// Connections of 10 Gbit/s, at most 30 of a host.
TEST(Aggregation, PortsCarryAllConnectionsOfTheBusierEnd) {
  const auto rate = [](std::int64_t nodes, std::int64_t clients, std::int64_t servers) {
    const Cluster cluster = read_cluster(config_of(
        R"({"nodes": )" + std::to_string(nodes) + R"(, "network": "100gbe"})", cluster_params()));
    return server_port(cluster, clients, {.count = servers}).bytes_per_second * 8e-9;
  };
  EXPECT_DOUBLE_EQ(rate(1, 1, 1), 10);
  EXPECT_DOUBLE_EQ(rate(2, 2, 1), 20);  // two clients at one server
  EXPECT_DOUBLE_EQ(rate(1, 1, 2), 20);  // or two servers of one client
  EXPECT_DOUBLE_EQ(rate(1, 4, 1), 30);  // four processes of a node, as a host carries
  EXPECT_DOUBLE_EQ(rate(4, 2, 8), 10);  // clients of two nodes
  const Cluster wire{.nodes = 8, .network = {{}, {1e9}}};
  EXPECT_EQ(server_port(wire, 8, {.count = 4}), Bandwidth{1e9});
}

}  // namespace
}  // namespace steptime
