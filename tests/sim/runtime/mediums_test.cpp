#include "sim/runtime/mediums.h"

#include "sim/servers/node_ports.h"
#include "tests/support/wires.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;
constexpr auto kIn = Pairs::kInNode;
constexpr auto kBetween = Pairs::kBetweenNodes;

/// Goes through these stages, whatever its bytes; without stages it takes as many ms as it has
/// bytes.
class Staged final : public Collective {
 public:
  explicit Staged(std::vector<Stage> stages) : stages_(std::move(stages)) {}
  Duration time(Bytes m) const override { return milliseconds(m.count); }
  Duration startup() const override { return {}; }
  std::vector<Stage> stages(Bytes) const override { return stages_; }

 private:
  std::vector<Stage> stages_;
};

using Ends = std::vector<std::pair<std::uint64_t, std::int64_t>>;  ///< (name, ms)

/// A client of 4 workers on 2 nodes: a channel inside nodes, and one between them.
struct Links {
  Callback ended(std::uint64_t name) {
    return {[](void* self, std::uint64_t which) {
              auto& me = *static_cast<Links*>(self);
              me.ends.emplace_back(which, since_start(me.world.now()) / milliseconds(1));
            },
            this, name};
  }
  void start(std::uint64_t name, std::vector<Stage> stages, std::int64_t bytes = 0) {
    const Collective& collective = *collectives.emplace_back(std::make_unique<Staged>(stages));
    mediums.push_back(std::make_unique<FlowMedium>(world, network, collective, links));
    mediums.back()->start({bytes}, ended(name));
  }

  World world;
  Cluster cluster{.nodes = 2,
                  .gpus_per_node = 2,
                  .network = {milliseconds(1), {1e9}},
                  .intra_node = {Duration{}, {2e9}}};
  Wires wires{4, {{{1e9}}, {{1e9}}}};
  Network network{world.engine, wires};
  NodePorts ports{world.engine, cluster, 2, 1};
  NodePorts::Taken taken{ports, Way::kNetwork, 0, 4};
  GroupLinks links{.in_node = {{0}}, .between_nodes = {{1}}};
  std::vector<std::unique_ptr<Collective>> collectives;
  std::vector<std::unique_ptr<Medium>> mediums;
  Ends ends;
};

TEST(FlowMedium, StagesGoOneAfterAnother) {
  Links c;
  // 1 + 2, 3 + 4 and 0 + 5 ms.
  c.start(0, {{kIn, milliseconds(1), milliseconds(2)},
              {kBetween, milliseconds(3), milliseconds(4)},
              {kIn, {}, milliseconds(5)}});
  c.world.run();
  EXPECT_EQ(c.ends, (Ends{{0, 15}}));
}

TEST(FlowMedium, SameLinksAreSharedAndStartUpsOverlap) {
  Links c;
  // Both start up for 1 ms, then share: 4 + 4 ms of work, each at half the speed.
  c.start(0, {{kIn, milliseconds(1), milliseconds(4)}});
  c.start(1, {{kIn, milliseconds(1), milliseconds(4)}});
  c.world.run();
  EXPECT_EQ(c.ends, (Ends{{0, 9}, {1, 9}}));
}

TEST(FlowMedium, OtherLinksAreNot) {
  Links c;
  c.start(0, {{kIn, {}, milliseconds(4)}});
  c.start(1, {{kBetween, {}, milliseconds(4)}});
  c.world.run();
  EXPECT_EQ(c.ends, (Ends{{0, 4}, {1, 4}}));
}

TEST(FlowMedium, PortsThatServersUseCarryOneThingAfterAnother) {
  Links c;
  c.links.taken_between_nodes = &c.taken;
  // A push of 3 ms has the port of node 0 from 0 on, so that the first collective waits until 3 ms
  // and the second until 7; inside the node nothing is in their way.
  c.ports.leave(Way::kNetwork, {0, 0}, milliseconds(3), When{});
  c.start(0, {{kBetween, {}, milliseconds(4)}});
  c.start(1, {{kBetween, milliseconds(1), milliseconds(4)}});
  c.start(2, {{kIn, {}, milliseconds(5)}});
  c.world.run();
  EXPECT_EQ(c.ends, (Ends{{2, 5}, {0, 7}, {1, 11}}));
  // The ports are taken until then for pushes, too: 11 + 1 ms of latency.
  EXPECT_EQ(c.ports.leave(Way::kNetwork, {1, 2}, milliseconds(1), c.world.present()).head,
            Time(milliseconds(12)));
}

TEST(FlowMedium, WhatIsKnownByItsTimeOnlyIsSerial) {
  Links c;
  const Staged collective({});
  FlowMedium medium(c.world, c.network, collective, c.links);
  medium.start({2}, c.ended(0));
  medium.start({3}, c.ended(1));
  c.start(2, {{kIn, {}, milliseconds(4)}});
  c.world.run();
  EXPECT_EQ(c.ends, (Ends{{0, 2}, {2, 4}, {1, 5}}));
}

TEST(AloneMedium, TakesItsTime) {
  Links c;
  const Staged collective({});
  AloneMedium medium(c.world, collective, [&](Bytes m) { return collective.time(m); }, {});
  medium.start({7}, c.ended(0));
  c.world.run();
  EXPECT_EQ(c.ends, (Ends{{0, 7}}));
}

TEST(NoMedium, TakesNoTime) {
  Links c;
  NoMedium medium(c.world);
  medium.start({1'000'000}, c.ended(0));
  c.world.run();
  EXPECT_EQ(c.ends, (Ends{{0, 0}}));
}

}  // namespace
}  // namespace steptime
