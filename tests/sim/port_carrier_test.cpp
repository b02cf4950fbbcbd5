#include "sim/port_carrier.h"

#include "tests/support/training.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

class Heard final : public CarrierUser {
 public:
  void arrived(const Parcel& parcel, Time in) override { parcels.emplace_back(parcel, in); }
  void reduced(std::int32_t) override { ++reductions; }
  void spread(std::int32_t, std::size_t, Time end) override { spreads.push_back(end); }

  std::vector<std::pair<Parcel, Time>> parcels;
  int reductions = 0;
  std::vector<Time> spreads;
};

/// 2 nodes with 2 GPUs: 1 ms and 1 GB/s between nodes, 2 GB/s and no latency inside.
TrainingPlan plan(ServerGroup::Placement placement) {
  TrainingPlan plan;
  plan.cluster = {.nodes = 2,
                  .gpus_per_node = 2,
                  .network = {milliseconds(1), {1e9}},
                  .intra_node = {Duration{}, {2e9}}};
  plan.aggregation = {.clients = 4, .servers = {.count = 4, .placement = placement}};
  plan.step.buckets = {{.cost = milliseconds(7)}};
  plan.broadcasts = {milliseconds(5)};
  return plan;
}

Time push_to(ServerGroup::Placement placement, std::int32_t client, std::int32_t server) {
  const TrainingPlan p = plan(placement);
  Engine engine;
  Heard heard;
  PortCarrier carrier(p, engine, heard);
  carrier.send({.client = client, .server = server, .bytes = {2'000'000}, .is_push = true}, Time{});
  carrier.run();
  return heard.parcels.at(0).second;
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

TEST(PortCarrier, GpusReceiveThroughOnePort) {
  // Clients 1 and 0 of node 0 push 1 ms each to the GPU of client 1: its own needs no port.
  const TrainingPlan p = plan(ServerGroup::Placement::kOnGpus);
  Engine engine;
  Heard heard;
  PortCarrier carrier(p, engine, heard);
  for (const std::int32_t client : {0, 1, 0})
    carrier.send({.client = client, .server = 1, .bytes = {2'000'000}, .is_push = true}, Time{});
  carrier.run();
  ASSERT_EQ(heard.parcels.size(), 3u);
  EXPECT_EQ(heard.parcels[0].second, Time(milliseconds(1)));
  EXPECT_EQ(heard.parcels[1].second, Time{});
  EXPECT_EQ(heard.parcels[2].second, Time(milliseconds(2)));
}

TEST(PortCarrier, BroadcastsOfAClientAreSerial) {
  const TrainingPlan p = plan(ServerGroup::Placement::kOwnNodes);
  Engine engine;
  Heard heard;
  PortCarrier carrier(p, engine, heard);
  carrier.broadcast(0, 0, Time(milliseconds(1)));
  carrier.broadcast(0, 0, Time(milliseconds(2)));
  carrier.broadcast(1, 0, Time(milliseconds(2)));
  EXPECT_EQ(heard.spreads, (std::vector<Time>{Time(milliseconds(6)), Time(milliseconds(11)),
                                              Time(milliseconds(7))}));
}

TEST(PortCarrier, AnAllReduceTakesItsCost) {
  const TrainingPlan p = plan(ServerGroup::Placement::kOwnNodes);
  Engine engine;
  Heard heard;
  PortCarrier carrier(p, engine, heard);
  carrier.all_reduce(0, 0, Time(milliseconds(2)));
  carrier.run();
  EXPECT_EQ(heard.reductions, 1);
  EXPECT_EQ(engine.now(), Time(milliseconds(9)));
}

}  // namespace
}  // namespace steptime
