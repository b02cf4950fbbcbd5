#include "sim/servers/port_carrier.h"

#include "tests/support/training.h"

#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

class Heard final : public CarrierUser {
 public:
  void pushed(std::span<const Timed> parts) override {
    pushes.insert(pushes.end(), parts.begin(), parts.end());
  }
  void pulled(std::int32_t, std::size_t, std::int32_t parts, When in) override {
    pulls.emplace_back(parts, in.time);
  }
  void reduced(std::int32_t, std::uint32_t) override { ++reductions; }
  void broadcasted(std::int32_t c, std::size_t, When end) override {
    broadcasts.emplace_back(c, end.time);
  }

  std::vector<Timed> pushes;
  std::vector<std::pair<std::int32_t, Time>> pulls;
  int reductions = 0;
  std::vector<std::pair<std::int32_t, Time>> broadcasts;
};

/// 2 nodes with 2 GPUs: 1 ms and 1 GB/s between nodes, 2 GB/s and no latency inside; one bucket
/// with 2 MB on each of `servers`.
TrainingPlan plan(ServerGroup::Placement placement, std::vector<std::int32_t> servers = {}) {
  TrainingPlan plan;
  plan.transport = make<Transport>(R"({"type": "mpi"})");
  plan.cluster = {.nodes = 2,
                  .gpus_per_node = 2,
                  .network = {milliseconds(1), {1e9}},
                  .intra_node = {Duration{}, {2e9}}};
  plan.aggregation = {.clients = 4, .servers = {.count = 4, .placement = placement}};
  plan.step.buckets = {{.bytes = {1000}}};
  plan.inside_time = [](Bytes) { return Duration(milliseconds(7)); };
  plan.pieces.resize(1);
  for (const std::int32_t server : servers)
    plan.pieces[0].push_back({.server = server, .bytes = {2'000'000}});
  return plan;
}

std::vector<Parcel> parts(const TrainingPlan& plan, std::int32_t client, bool is_push) {
  std::vector<Parcel> parts;
  for (const Piece& piece : plan.pieces[0]) {
    parts.push_back({.client = client,
                     .server = piece.server,
                     .slot = static_cast<std::uint32_t>(parts.size()),
                     .bytes = piece.bytes,
                     .is_push = is_push});
  }
  return parts;
}

Time push_to(ServerGroup::Placement placement, std::int32_t client, std::int32_t server) {
  const TrainingPlan p = plan(placement, {server});
  Engine engine;
  Heard heard;
  PortCarrier carrier(p, engine, heard);
  carrier.push(parts(p, client, true));
  engine.run();
  return heard.pushes.at(0).at.time;
}

TEST(PortCarrier, ServersAreWhereTheirPlacementSays) {
  using Placement = ServerGroup::Placement;
  EXPECT_EQ(push_to(Placement::kOwnNodes, 0, 0), Time(milliseconds(3)));
  EXPECT_EQ(push_to(Placement::kWithWorkers, 0, 2), Time(milliseconds(1)));  // node 2 mod 2
  EXPECT_EQ(push_to(Placement::kWithWorkers, 0, 3), Time(milliseconds(3)));
  EXPECT_EQ(push_to(Placement::kOnGpus, 0, 0), Time{});  // its own GPU
  EXPECT_EQ(push_to(Placement::kOnGpus, 0, 1), Time(milliseconds(1)));
  EXPECT_EQ(push_to(Placement::kOnGpus, 0, 2), Time(milliseconds(3)));
}

TEST(PortCarrier, HostsAreClientsOfServersBeyondAndOfTheirGpus) {
  TrainingPlan p = plan(ServerGroup::Placement::kOnGpus);
  p.aggregation.servers.count = 2;  // of each node
  p.aggregation.beyond = {{.count = 3}, std::nullopt};
  Engine engine;
  Heard heard;
  PortCarrier carrier(p, engine, heard);
  // Clients 4 and 5 are the hosts for servers 4 to 6, those beyond; 6 and 7 for the GPUs. From GPU
  // 3 to host 1 2 MB at 2 GB/s; from host 1 to the network 2 and 2 ms.
  const Parcel copy{.client = 7, .server = 3, .bucket = 9, .bytes = {2'000'000}};
  const Timed sum{copy, When{}};
  carrier.answer({&sum, 1});
  for (const std::int32_t server : {6, 4}) {
    const Parcel push{.client = 5, .server = server, .bytes = {2'000'000}, .is_push = true};
    carrier.push({&push, 1});
  }
  engine.run();
  ASSERT_EQ(heard.pushes.size(), 2u);
  EXPECT_EQ(heard.pushes[0].at.time, Time(milliseconds(1 + 2)));
  EXPECT_EQ(heard.pushes[1].at.time, Time(milliseconds(1 + 2 + 2)));
  ASSERT_EQ(heard.pulls.size(), 1u);
  EXPECT_EQ(heard.pulls[0].second, Time(milliseconds(1)));
  EXPECT_EQ(carrier.latency(5, 6), milliseconds(1));
  EXPECT_EQ(carrier.latency(7, 3), Duration{});
}

TEST(PortCarrier, GpusReceiveThroughOnePort) {
  // Clients 1 and 0 of node 0 push 1 ms each to the GPU of client 1: its own needs no port.
  const TrainingPlan p = plan(ServerGroup::Placement::kOnGpus, {1});
  Engine engine;
  Heard heard;
  PortCarrier carrier(p, engine, heard);
  for (const std::int32_t client : {0, 1, 0})
    carrier.push(parts(p, client, true));
  engine.run();
  ASSERT_EQ(heard.pushes.size(), 3u);
  EXPECT_EQ(heard.pushes[0].at.time, Time(milliseconds(1)));
  EXPECT_EQ(heard.pushes[1].at.time, Time{});
  EXPECT_EQ(heard.pushes[2].at.time, Time(milliseconds(2)));
}

TEST(PortCarrier, PartsOfAPushTravelSideBySide) {
  // 1 ms + 2 x 2 ms to two servers; a second client's, meanwhile, has each port after 2 ms.
  const TrainingPlan p = plan(ServerGroup::Placement::kOwnNodes, {0, 1});
  Engine engine;
  Heard heard;
  PortCarrier carrier(p, engine, heard);
  for (const std::int32_t client : {0, 2})
    carrier.push(parts(p, client, true));
  engine.run();
  ASSERT_EQ(heard.pushes.size(), 4u);
  for (const Timed& each : heard.pushes)
    EXPECT_EQ(each.at.time, Time(milliseconds(5))) << each.parcel.client << each.parcel.server;
}

TEST(PortCarrier, APullIsInWhenThePortHasTakenAllOfIt) {
  // Server 0 sends at 0 s, server 1 at 3 ms: the port has 2 ms of 0, waits, and has 2 ms of 1.
  const TrainingPlan p = plan(ServerGroup::Placement::kOwnNodes, {0, 1});
  Engine engine;
  Heard heard;
  PortCarrier carrier(p, engine, heard);
  const std::vector<Parcel> both = parts(p, 0, false);
  carrier.answer(std::vector<Timed>{{both[0], When{}}, {both[1], When(Time(milliseconds(3)))}});
  engine.run();
  EXPECT_EQ(heard.pulls, (std::vector{std::pair(2, Time(milliseconds(1 + 3 + 2)))}));
}

TEST(PortCarrier, APullFromManyServersIsLimitedByThePort) {
  const TrainingPlan p = plan(ServerGroup::Placement::kOwnNodes, {0, 1, 2, 3});
  Engine engine;
  Heard heard;
  PortCarrier carrier(p, engine, heard);
  std::vector<Timed> answers;
  for (const Parcel& part : parts(p, 0, false))
    answers.push_back({part, When{}});
  carrier.answer(answers);
  engine.run();
  EXPECT_EQ(heard.pulls, (std::vector{std::pair(4, Time(milliseconds(1 + 4 * 2)))}));
}

TEST(PortCarrier, PartsFromTheHostAndTheNetworkHavePortsOfTheirOwn) {
  // Server 0 is on node 0, server 1 on node 1.
  const TrainingPlan p = plan(ServerGroup::Placement::kWithWorkers, {0, 1});
  Engine engine;
  Heard heard;
  PortCarrier carrier(p, engine, heard);
  std::vector<Timed> answers;
  for (const Parcel& part : parts(p, 0, false))
    answers.push_back({part, When{}});
  carrier.answer(answers);
  engine.run();
  EXPECT_EQ(heard.pulls, (std::vector{std::pair(1, Time(milliseconds(1))),
                                      std::pair(1, Time(milliseconds(3)))}));
}

TEST(PortCarrier, BroadcastsOfAClientAreSerial) {
  TrainingPlan p = plan(ServerGroup::Placement::kOwnNodes);
  p.aggregation.clients = 2;  // of 2 workers
  p.aggregation.spread = std::make_shared<LinearCollective>(LinearCost{milliseconds(5), {}});
  Engine engine;
  Heard heard;
  PortCarrier carrier(p, engine, heard);
  carrier.broadcast(0, 0, When(Time(milliseconds(1))));
  carrier.broadcast(0, 0, When(Time(milliseconds(2))));
  carrier.broadcast(1, 0, When(Time(milliseconds(2))));
  engine.run();
  EXPECT_EQ(heard.broadcasts,
            (std::vector{std::pair(0, Time(milliseconds(6))), std::pair(1, Time(milliseconds(7))),
                         std::pair(0, Time(milliseconds(11)))}));
}

TEST(PortCarrier, AnAllReduceTakesItsCost) {
  TrainingPlan p = plan(ServerGroup::Placement::kOwnNodes);
  p.aggregation.inside = std::make_shared<LinearCollective>(LinearCost{});
  Engine engine;
  Heard heard;
  PortCarrier carrier(p, engine, heard);
  carrier.all_reduce(0, 0, {1000}, When(Time(milliseconds(2))), {});
  engine.run();
  EXPECT_EQ(heard.reductions, 1);
  EXPECT_EQ(engine.now(), Time(milliseconds(9)));
}

}  // namespace
}  // namespace steptime
