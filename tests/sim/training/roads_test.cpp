#include "sim/training/roads.h"

#include "sim/servers/port_wire.h"
#include "tests/support/training.h"

#include <chrono>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

TrainingPlan plan_of(const std::string& aggregation, const std::string& run = "{}") {
  return plan_training(training_experiment(strategy(aggregation, kSgd), 4, run));
}
const std::string kHybrid = R"({"type": "hybrid", "clients": 2, "servers": 1})";

TEST(Roads, AClientOfOneAddsNothingUp) {
  World world;
  const TrainingPlan plan = plan_of(servers(1));
  const auto roads = plan.roads(world, plan);
  EXPECT_NE(dynamic_cast<NoMedium*>(roads->medium(0, *plan.aggregation.inside).get()), nullptr);
}

TEST(Roads, WhatMeetsNothingIsATime) {
  World world;
  const TrainingPlan plan = plan_of(kRing);
  const auto roads = plan.roads(world, plan);
  EXPECT_NE(dynamic_cast<AloneMedium*>(roads->medium(0, *plan.aggregation.inside).get()), nullptr);
}

TEST(Roads, ClientsThatSpreadValuesShareTheirLinks) {
  World world;
  const TrainingPlan plan = plan_of(kHybrid);
  const auto roads = plan.roads(world, plan);
  EXPECT_NE(dynamic_cast<FlowMedium*>(roads->medium(0, *plan.aggregation.inside).get()), nullptr);
  EXPECT_NE(dynamic_cast<PortWire*>(roads->wire().get()), nullptr);
}

TEST(Roads, MessagesGoOverTheMachinesLinks) {
  World world;
  const TrainingPlan plan = plan_of(kHybrid, R"({"fidelity": "message"})");
  const auto roads = plan.roads(world, plan);
  EXPECT_NE(dynamic_cast<MessageMedium*>(roads->medium(1, *plan.aggregation.inside).get()),
            nullptr);
  // A client's first worker and the server, which has a node of its own: two hops of 0.5 ms.
  EXPECT_EQ(roads->wire()->latency(1, 0), milliseconds(1));
}

/// 2 nodes with 2 GPUs, 1 ms and 1 GB/s between nodes, 2 GB/s and no latency inside; 3 servers
/// beyond. Every bucket is 2 MB on one place.
TrainingPlan plan_of_nodes(const Placement& placement, bool as_messages = false) {
  TrainingPlan plan = plan_of(servers(1));
  plan.cluster = {.nodes = 2,
                  .gpus_per_node = 2,
                  .network = {milliseconds(1), {1e9}},
                  .intra_node = {Duration{}, {2e9}}};
  plan.aggregation = {.clients = 4, .servers = {.count = 2, .placement = &placement}};
  plan.aggregation.servers.copies.threads = 1;
  plan.aggregation.beyond = {{.count = 3}, std::nullopt};
  plan.roads = as_messages ? message_roads : closed_roads;
  for (auto* pieces : {&plan.pieces, &plan.pieces_beyond}) {
    *pieces = {{{.server = 0, .bytes = {2'000'000}}},
               {{.server = 1, .bytes = {2'000'000}}},
               {{.server = 2, .bytes = {2'000'000}}}};
  }
  return plan;
}

struct Arrivals final : public PieceLineUser {
  void came(const SentPiece& sent, When in) override {
    told.emplace_back(sent.of->client, sent.of->bucket, since_start(in.time) / milliseconds(1));
  }
  std::vector<std::tuple<std::int32_t, std::int32_t, std::int64_t>> told;  ///< ms
};

/// GPU 3 pushes to the place on GPU 2, 1 ms; from there to the host 1 ms; host 1
/// sends 2 ms, and again 2 ms, each 1 ms on the way.
TEST(Roads, NodesAreReachedInsideAndServersBeyondOverTheNetwork) {
  World world;
  const TrainingPlan plan = plan_of_nodes(on_gpus());
  const auto roads = plan.roads(world, plan);
  const auto inside = roads->line_in_node(1);
  const auto beyond = roads->line_beyond();
  Arrivals heard;
  Exchanged push{.client = 1, .bucket = 0};
  inside->carry({&push, 0, true}, heard);
  Exchanged copy{.client = 2, .bucket = 0};  // the host
  inside->carry({&copy, 0, false}, heard);
  Exchanged first{.client = 1, .bucket = 2};
  Exchanged second{.client = 1, .bucket = 0};
  beyond->carry({&first, 0, true}, heard);
  beyond->carry({&second, 0, true}, heard);
  world.run();
  EXPECT_EQ(heard.told, (std::vector<std::tuple<std::int32_t, std::int32_t, std::int64_t>>{
                            {1, 0, 1}, {2, 0, 1}, {1, 2, 3}, {1, 0, 5}}));
  EXPECT_EQ(beyond->latency(1, 2), milliseconds(1));
  EXPECT_EQ(inside->latency(2, 1), Duration{});
}

/// GPU 0 has one copy under way and two waiting, of 1 ms each: the sum of key 1 to its host, and
/// key 1 to a worker. Priorities of keys are 0 and more where the last key goes first, 0 and less
/// where the first does; that of a sum to the host is 0.
TEST(Roads, ASumOnItsWayToTheHostHasPriorityZero) {
  for (const bool first_key_first : {false, true}) {
    World world;
    TrainingPlan plan = plan_of_nodes(on_gpus(), true);
    plan.aggregation.servers.copies.first_key_first = first_key_first;
    const auto roads = plan.roads(world, plan);
    const auto line = roads->line_in_node(0);
    Arrivals heard;
    Exchanged key{.client = 1, .bucket = 0};   // from place 0, on GPU 0, to GPU 1
    Exchanged host{.client = 2, .bucket = 0};  // to the host
    Exchanged push{.client = 0, .bucket = 1};  // from GPU 0 to place 1
    line->carry({&key, 0, false}, heard);
    line->carry({&host, 0, false}, heard);
    line->carry({&push, 0, true}, heard);
    world.run();
    std::vector<std::int32_t> clients;
    for (const auto& [client, bucket, when] : heard.told)
      clients.push_back(client);
    EXPECT_EQ(clients, first_key_first ? (std::vector<std::int32_t>{1, 2, 0})
                                       : (std::vector<std::int32_t>{1, 0, 2}));
  }
}

}  // namespace
}  // namespace steptime
