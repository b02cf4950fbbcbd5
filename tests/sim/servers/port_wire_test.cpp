#include "sim/servers/port_wire.h"

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

Time at_ms(std::int64_t ms) {
  return Time(milliseconds(ms));
}

class Heard final : public Exchanges {
 public:
  void pushed(Exchanged&, std::uint32_t, When in) override { pushes.push_back(in.time); }
  void pulled(Exchanged&, std::int32_t, std::int32_t pieces, When in) override {
    pulls.emplace_back(pieces, in.time);
  }
  std::vector<Time> pushes;
  std::vector<std::pair<std::int32_t, Time>> pulls;
};

/// 2 nodes with 2 GPUs: 1 ms and 1 GB/s between nodes, 2 GB/s and no latency inside; one bucket
/// with 2 MB on each of these servers, which are on nodes of their own or on the workers' hosts.
struct Scene {
  Scene(bool own_nodes, const std::vector<std::int32_t>& servers)
      : pieces(1), ports(world.engine, cluster, own_nodes ? 6 : 2, 1) {
    for (const std::int32_t server : servers)
      pieces[0].push_back({.server = server, .bytes = {2'000'000}});
    PortEnds ends;
    ends.all_between_nodes = own_nodes;
    ends.clients = {{0, 0}, {0, 1}, {1, 2}, {1, 3}};
    for (std::int32_t server = 0; server < 4; ++server)
      ends.servers.push_back({own_nodes ? 2 + server : server % 2, PortEnd::kHost});
    wire.emplace(world, ports, ends, pieces);
    for (std::int32_t client = 0; client < 4; ++client) {
      exchanges[client].owner = &heard;
      exchanges[client].client = client;
    }
  }

  World world;
  Cluster cluster{.nodes = 2,
                  .gpus_per_node = 2,
                  .network = {milliseconds(1), {1e9}},
                  .intra_node = {Duration{}, {2e9}}};
  Pieces pieces;
  NodePorts ports;
  std::optional<PortWire> wire;
  Heard heard;
  Exchanged exchanges[4];
};

Time push_to(bool own_nodes, std::int32_t server) {
  Scene run(own_nodes, {server});
  run.wire->push(run.exchanges[0]);
  run.world.run();
  return run.heard.pushes.at(0);
}

TEST(PortWire, ServersAreWhereTheirEndsSay) {
  EXPECT_EQ(push_to(true, 0), at_ms(1 + 2));
  EXPECT_EQ(push_to(false, 2), at_ms(1));  // node 2 mod 2: 2 MB inside the node
  EXPECT_EQ(push_to(false, 3), at_ms(1 + 2));
}

TEST(PortWire, PiecesOfAPushTravelSideBySide) {
  // 1 ms + 2 x 2 ms to two servers; a second client's, meanwhile, has each port after 2 ms.
  Scene run(true, {0, 1});
  run.wire->push(run.exchanges[0]);
  run.wire->push(run.exchanges[2]);
  run.world.run();
  EXPECT_EQ(run.heard.pushes, std::vector<Time>(4, at_ms(5)));
}

TEST(PortWire, APullIsInWhenThePortHasTakenAllOfIt) {
  // Server 0 sends at 0 s, server 1 at 3 ms: the port has 2 ms of 0, waits, and has 2 ms of 1.
  Scene run(true, {0, 1});
  const std::vector<When> leave{When{}, When(at_ms(3))};
  run.wire->answer(run.exchanges[0], 0, leave);
  run.world.run();
  EXPECT_EQ(run.heard.pulls, (std::vector{std::pair(2, at_ms(1 + 3 + 2))}));
}

TEST(PortWire, APullFromManyServersIsLimitedByThePort) {
  Scene run(true, {0, 1, 2, 3});
  const std::vector<When> leave(4);
  run.wire->answer(run.exchanges[0], 0, leave);
  run.world.run();
  EXPECT_EQ(run.heard.pulls, (std::vector{std::pair(4, at_ms(1 + 4 * 2))}));
}

TEST(PortWire, PiecesFromTheHostAndTheNetworkHavePortsOfTheirOwn) {
  Scene run(false, {0, 1});  // server 0 is on node 0, server 1 on node 1
  const std::vector<When> leave(2);
  run.wire->answer(run.exchanges[0], 0, leave);
  run.world.run();
  EXPECT_EQ(run.heard.pulls, (std::vector{std::pair(1, at_ms(1)), std::pair(1, at_ms(3))}));
}

TEST(PortWire, LatenciesAreAlikeWhereAllMessagesGoOverTheNetwork) {
  EXPECT_EQ(Scene(true, {0}).wire->common_latency(), milliseconds(1));
  Scene mixed(false, {0});
  EXPECT_EQ(mixed.wire->common_latency(), std::nullopt);
  EXPECT_EQ(mixed.wire->latency(0, 0), Duration{});
  EXPECT_EQ(mixed.wire->latency(0, 1), milliseconds(1));
}

}  // namespace
}  // namespace steptime
