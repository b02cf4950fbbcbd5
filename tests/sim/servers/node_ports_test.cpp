#include "sim/servers/node_ports.h"

#include <chrono>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

// 3 nodes, 1 ms and 1 GB/s; inside a node 0 s and 2 GB/s.
Cluster cluster() {
  return {.nodes = 3, .network = {milliseconds(1), {1e9}}, .intra_node = {Duration{}, {2e9}}};
}
constexpr Duration kTwoMs = milliseconds(2);

TEST(NodePorts, KnowTheWayBetweenTwoEnds) {
  EXPECT_EQ(NodePorts::way({0, 0}, {1, -1}), Way::kNetwork);
  EXPECT_EQ(NodePorts::way({0, 0}, {0, -1}), Way::kHost);
  EXPECT_EQ(NodePorts::way({0, 0}, {0, 0}), Way::kNone);
  Engine engine;
  const NodePorts ports(engine, cluster(), 3, 1);
  EXPECT_EQ(ports.transfer(Way::kNetwork, {2'000'000}), kTwoMs);
  EXPECT_EQ(ports.transfer(Way::kHost, {2'000'000}), milliseconds(1));
  EXPECT_EQ(ports.transfer(Way::kNone, {2'000'000}), Duration{});
}

// When a message whose last byte comes with `sent` is in.
Time enter(NodePorts& ports, Way way, PortEnd to, Duration transfer,
           const NodePorts::Passage& sent) {
  return ports.enter(way, to, transfer, ports.arrival(way, sent)).time;
}

TEST(NodePorts, AnIdlePathTakesLatencyAndTransfer) {
  Engine engine;
  NodePorts ports(engine, cluster(), 3, 1);
  const NodePorts::Passage sent = ports.leave(Way::kNetwork, {0, 0}, kTwoMs, When{});
  EXPECT_EQ(sent.head, Time(milliseconds(1)));
  EXPECT_EQ(enter(ports, Way::kNetwork, {1, -1}, kTwoMs, sent), Time(milliseconds(3)));
}

TEST(NodePorts, ReceiversQueue) {
  //  node 0 -> 2  |..11 |        node 1 -> 2  |..  11|     2 ms each into one port
  Engine engine;
  NodePorts ports(engine, cluster(), 3, 1);
  const NodePorts::Passage first = ports.leave(Way::kNetwork, {0, 0}, kTwoMs, When{});
  const NodePorts::Passage second = ports.leave(Way::kNetwork, {1, 1}, kTwoMs, When{});
  EXPECT_EQ(enter(ports, Way::kNetwork, {2, -1}, kTwoMs, first), Time(milliseconds(3)));
  EXPECT_EQ(enter(ports, Way::kNetwork, {2, -1}, kTwoMs, second), Time(milliseconds(5)));
}

TEST(NodePorts, ASlowSenderLeavesTheReceiverToOthers) {
  // Node 0 sends two messages of 2 ms side by side, to 1 and 2; meanwhile 1 sends 2 ms to 2.
  Engine engine;
  NodePorts ports(engine, cluster(), 3, 1);
  const NodePorts::Passage both = ports.leave(Way::kNetwork, {0, 0}, 2 * kTwoMs, When{});
  const NodePorts::Passage one = ports.leave(Way::kNetwork, {1, 1}, kTwoMs, When{});
  EXPECT_EQ(enter(ports, Way::kNetwork, {2, -1}, kTwoMs, both), Time(milliseconds(5)));
  EXPECT_EQ(enter(ports, Way::kNetwork, {2, -1}, kTwoMs, one), Time(milliseconds(5)));
}

TEST(NodePorts, SendersQueueAndDirectionsDoNotMeet) {
  Engine engine;
  NodePorts ports(engine, cluster(), 3, 1);
  ports.leave(Way::kNetwork, {0, 0}, kTwoMs, When{});
  EXPECT_EQ(ports.leave(Way::kNetwork, {0, 0}, kTwoMs, When{}).head, Time(milliseconds(3)));
  EXPECT_EQ(ports.leave(Way::kNetwork, {1, -1}, kTwoMs, When{}).head, Time(milliseconds(1)));
}

TEST(NodePorts, AServerOnTheWorkersNodeIsReachedInsideIt) {
  Engine engine;
  NodePorts ports(engine, cluster(), 3, 1);
  ports.leave(Way::kNetwork, {0, 0}, kTwoMs, When{});  // the network port is busy
  const NodePorts::Passage sent = ports.leave(Way::kHost, {0, 0}, kTwoMs, When{});
  EXPECT_EQ(enter(ports, Way::kHost, {0, -1}, kTwoMs, sent), Time(milliseconds(2)));
}

TEST(NodePorts, NeighboursMayShareALinkToTheHost) {
  // Workers 0 and 1 share one, 2 and 3 another.
  Engine engine;
  NodePorts ports(engine, {.nodes = 1, .gpus_per_node = 4, .intra_node = {Duration{}, {2e9}}}, 1,
                  2);
  const auto leave = [&](std::int32_t worker) {
    return ports.leave(Way::kHost, {0, worker}, kTwoMs, When{}).tail;
  };
  EXPECT_EQ(leave(0), Time(milliseconds(2)));
  EXPECT_EQ(leave(1), Time(milliseconds(4)));
  EXPECT_EQ(leave(2), Time(milliseconds(2)));
  const NodePorts::Passage back = ports.leave(Way::kHost, {0, -1}, kTwoMs, When{});
  EXPECT_EQ(enter(ports, Way::kHost, {0, 0}, kTwoMs, back), Time(milliseconds(2)));
}

}  // namespace
}  // namespace steptime
