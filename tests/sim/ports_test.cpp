#include "sim/ports.h"

#include <chrono>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

// 3 nodes, 1 ms and 1 GB/s; inside a node 0 s and 2 GB/s.
Cluster cluster() {
  return {.nodes = 3, .network = {milliseconds(1), {1e9}}, .intra_node = {Duration{}, {2e9}}};
}
constexpr Bytes kTwoMs{2000000};

TEST(Ports, AnIdlePathTakesLatencyAndTransfer) {
  Ports ports(cluster(), 3, 1);
  const Passage sent = ports.depart({0, 0}, {1, -1}, kTwoMs, Time{});
  EXPECT_EQ(sent.head, Time(milliseconds(1)));
  EXPECT_EQ(ports.arrive({0, 0}, {1, -1}, kTwoMs, sent), Time(milliseconds(3)));
}

TEST(Ports, ReceiversQueue) {
  //  node 0 -> 2  |..11 |        node 1 -> 2  |..  11|     2 ms each into one port
  Ports ports(cluster(), 3, 1);
  const Passage first = ports.depart({0, 0}, {2, -1}, kTwoMs, Time{});
  const Passage second = ports.depart({1, 1}, {2, -1}, kTwoMs, Time{});
  EXPECT_EQ(ports.arrive({0, 0}, {2, -1}, kTwoMs, first), Time(milliseconds(3)));
  EXPECT_EQ(ports.arrive({1, 1}, {2, -1}, kTwoMs, second), Time(milliseconds(5)));
}

TEST(Ports, SendersQueueAndDirectionsDoNotMeet) {
  Ports ports(cluster(), 3, 1);
  ports.depart({0, 0}, {1, -1}, kTwoMs, Time{});
  EXPECT_EQ(ports.depart({0, 0}, {2, -1}, kTwoMs, Time{}).head, Time(milliseconds(3)));
  EXPECT_EQ(ports.depart({1, -1}, {0, 0}, kTwoMs, Time{}).head, Time(milliseconds(1)));
}

TEST(Ports, AServerOnTheWorkersNodeIsReachedInsideIt) {
  Ports ports(cluster(), 3, 1);
  ports.depart({0, 0}, {1, -1}, kTwoMs, Time{});  // the network port is busy
  const Passage sent = ports.depart({0, 0}, {0, -1}, kTwoMs, Time{});
  EXPECT_EQ(ports.arrive({0, 0}, {0, -1}, kTwoMs, sent), Time(milliseconds(1)));
}

TEST(Ports, NeighboursMayShareALinkToTheHost) {
  // Workers 0 and 1 share one, 2 and 3 another; 1 ms each.
  Ports ports({.nodes = 1, .gpus_per_node = 4, .intra_node = {Duration{}, {2e9}}}, 1, 2);
  EXPECT_EQ(ports.depart({0, 0}, {0, -1}, kTwoMs, Time{}).tail, Time(milliseconds(1)));
  EXPECT_EQ(ports.depart({0, 1}, {0, -1}, kTwoMs, Time{}).tail, Time(milliseconds(2)));
  EXPECT_EQ(ports.depart({0, 2}, {0, -1}, kTwoMs, Time{}).tail, Time(milliseconds(1)));
  const Passage back = ports.depart({0, -1}, {0, 0}, kTwoMs, Time{});
  EXPECT_EQ(ports.arrive({0, -1}, {0, 0}, kTwoMs, back), Time(milliseconds(1)));
}

}  // namespace
}  // namespace steptime
