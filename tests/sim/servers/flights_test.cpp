#include "sim/servers/flights.h"

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;
constexpr auto kIn = Pairs::kInNode;
constexpr auto kBetween = Pairs::kBetweenNodes;

/// A client of 4 workers on 2 nodes, whose collectives end as `ends` says: (name, ms).
struct Client {
  explicit Client(Flights::Shared with_servers)
      : cluster{.nodes = 2,
                .gpus_per_node = 2,
                .network = {milliseconds(1), {1e9}},
                .intra_node = {Duration{}, {2e9}}},
        ports(engine, cluster, 2, 1),
        flights(engine, ports, {0, 4}, with_servers) {}

  Callback ended(std::uint64_t name) {
    return {[](void* self, std::uint64_t which) {
              auto& me = *static_cast<Client*>(self);
              me.ends.emplace_back(which, since_start(me.engine.now()) / milliseconds(1));
            },
            this, name};
  }

  Engine engine;
  Cluster cluster;
  Ports ports;
  Flights flights;
  std::vector<std::pair<std::uint64_t, std::int64_t>> ends;
};
using Ends = std::vector<std::pair<std::uint64_t, std::int64_t>>;

TEST(Flights, StagesGoOneAfterAnother) {
  Client c({});
  // 1 + 2, 3 + 4 and 0 + 5 ms.
  c.flights.start({{kIn, milliseconds(1), milliseconds(2)},
                   {kBetween, milliseconds(3), milliseconds(4)},
                   {kIn, {}, milliseconds(5)}},
                  c.ended(0));
  c.engine.run();
  EXPECT_EQ(c.ends, (Ends{{0, 15}}));
}

TEST(Flights, SameLinksAreSharedAndStartUpsOverlap) {
  Client c({});
  // Both start up for 1 ms, then share: 4 + 4 ms of work, each at half the speed.
  c.flights.start({{kIn, milliseconds(1), milliseconds(4)}}, c.ended(0));
  c.flights.start({{kIn, milliseconds(1), milliseconds(4)}}, c.ended(1));
  c.engine.run();
  EXPECT_EQ(c.ends, (Ends{{0, 9}, {1, 9}}));
}

TEST(Flights, OtherLinksAreNot) {
  Client c({});
  c.flights.start({{kIn, {}, milliseconds(4)}}, c.ended(0));
  c.flights.start({{kBetween, {}, milliseconds(4)}}, c.ended(1));
  c.engine.run();
  EXPECT_EQ(c.ends, (Ends{{0, 4}, {1, 4}}));
}

TEST(Flights, PortsThatServersUseCarryOneThingAfterAnother) {
  Client c({.between_nodes = true});
  // A push of 3 ms has the port of node 0 from 0 on, so that the first collective waits until 3 ms
  // and the second until 7; inside the node nothing is in their way.
  c.ports.leave(Way::kNetwork, {0, 0}, milliseconds(3), When{});
  c.flights.start({{kBetween, {}, milliseconds(4)}}, c.ended(0));
  c.flights.start({{kBetween, milliseconds(1), milliseconds(4)}}, c.ended(1));
  c.flights.start({{kIn, {}, milliseconds(5)}}, c.ended(2));
  c.engine.run();
  EXPECT_EQ(c.ends, (Ends{{2, 5}, {0, 7}, {1, 11}}));
  // The ports are taken until then for pushes, too: 11 + 1 ms of latency.
  EXPECT_EQ(c.ports.leave(Way::kNetwork, {1, 2}, milliseconds(1), c.engine.present()).head,
            Time(milliseconds(12)));
}

TEST(Flights, WhatIsKnownByItsTimeOnlyIsSerial) {
  Client c({});
  c.flights.start(milliseconds(2), c.ended(0));
  c.flights.start(milliseconds(3), c.ended(1));
  c.flights.start({{kIn, {}, milliseconds(4)}}, c.ended(2));
  c.engine.run();
  EXPECT_EQ(c.ends, (Ends{{0, 2}, {2, 4}, {1, 5}}));
}

}  // namespace
}  // namespace steptime
