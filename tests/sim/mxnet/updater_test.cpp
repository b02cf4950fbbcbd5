// What does a push end with, and a pull begin with, wherever the optimizer runs?
#include "sim/mxnet/updater.h"

#include "sim/network/machine.h"
#include "sim/training/servers_of_hosts.h"
#include "tests/support/one_ms_roads.h"
#include "tests/support/push_pulls.h"

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using Kind = NodeProcess::Kind;

struct Said {
  Kind kind;
  std::int32_t gpu;
  std::int32_t to;
  bool operator==(const Said&) const = default;
};

/// What a push and a pull of a key say whose sum of 4 MB is in one buffer, and its weights in it or
/// in another one.
std::vector<Said> said(const Updater& updater, std::int32_t gpu, bool in_place) {
  World world;
  const Machine machine(pair_of_gpus(), {.hosts = true});
  NodeProcess process(world, {world.connect(machine, {})}, pair_of_gpus(), {}, updater, 1);
  const auto sum = process.variable();
  const SummedPart part{gpu, 4'000'000, sum, in_place ? sum : process.variable()};
  process.updater().push(process, 0, {&part, 1});
  process.updater().pull(process, 0, {&part, 1});
  std::vector<Said> all;
  for (std::uint32_t i = 0; i < process.operations(); ++i) {
    const NodeProcess::Operation& of = process.operation(i);
    all.push_back({of.kind, of.gpu, of.to});
  }
  return all;
}

TEST(Updater, NoneLeavesTheSum) {
  EXPECT_TRUE(said(no_updater(), 1, false).empty());
}

// The weights live beside the sum, and a pull begins by copying them there; or they take its place.
TEST(Updater, OfTheProcessUpdatesWhereTheSumIs) {
  EXPECT_EQ(said(updater_of_process(), 1, false),
            (std::vector<Said>{{Kind::kUpdate, 1, 0}, {Kind::kCopy, 1, 1}}));
  EXPECT_EQ(said(updater_of_process(), NodeProcess::kHost, true),
            (std::vector<Said>{{Kind::kUpdate, NodeProcess::kHost, 0}}));
  EXPECT_EQ(updater_of_process().calls(3), 3);
}

/// Servers of a node, over roads on which everything takes 1 ms.
struct AtServers {
  TrainingPlan plan;
  World world;
  OneMsRoads roads;
  ServersOfHosts hosts;
  Machine machine;
  UpdaterAtServers updater;
  NodeProcess process;
  explicit AtServers(std::vector<std::vector<Piece>> keys)
      : plan(with(keys)),
        roads(world, plan),
        hosts(world, plan, roads, nullptr, {}),
        machine(pair_of_gpus(), {.hosts = true}),
        updater(hosts.servers(), keys.size()),
        process(world, {world.connect(machine, {})}, pair_of_gpus(), {.copy_threads = 1}, updater,
                keys.size()) {}
  static TrainingPlan with(const std::vector<std::vector<Piece>>& keys) {
    TrainingPlan plan = two_nodes(on_gpus());
    plan.cluster.nodes = 1;
    plan.pieces_beyond = keys;
    return plan;
  }
  double ms() {
    process.begin_period();
    world.start({"main thread"}, process.push([] {}));
    world.run();
    EXPECT_EQ(process.pending(), 0U);
    return to_seconds(since_start(process.end())) * 1e3;
  }
};
const std::vector<Piece> kKey{{.server = 0, .bytes = {4'000'000}}};

TEST(Updater, AtServersPushesFromTheHostAndPullsToIt) {
  const AtServers servers({kKey});
  constexpr std::int32_t kHost = NodeProcess::kHost;
  EXPECT_EQ(said(servers.updater, 1, false), (std::vector<Said>{{Kind::kCopy, 1, kHost},
                                                                {Kind::kAsk, kHost, 0},
                                                                {Kind::kAsk, kHost, 0},
                                                                {Kind::kCopy, kHost, 1}}));
  EXPECT_EQ(said(servers.updater, kHost, true),
            (std::vector<Said>{{Kind::kAsk, kHost, 0}, {Kind::kAsk, kHost, 0}}));
  EXPECT_EQ(servers.updater.calls(3), 0);
}

// 4 MB to the host, 4.001 ms; the push 1 and its answer 1, the request 1 and the values 1; 4.001
// back.
TEST(Updater, AtServersAPullWaitsForTheAnswerToItsPush) {
  AtServers servers({kKey});
  const SummedPart part{1, 4'000'000, servers.process.variable(), servers.process.variable()};
  servers.updater.push(servers.process, 0, {&part, 1});
  servers.updater.pull(servers.process, 0, {&part, 1});
  EXPECT_NEAR(servers.ms(), 2 * 4.001 + 4, 1e-9);
}

// GPU 1's one copy thread is taken by 2 MB of key 0, until 2.001 ms. A sum of key 1, which is ready
// meanwhile, passes another copy of 4 MB of that key, as it has priority 0, and is on the host at
// 6.002; its push is answered at 8.002, and the other copy is over at 10.003. Behind that copy it
// would be answered at 12.003.
TEST(Updater, AtServersASumPassesOtherCopiesToTheHost) {
  AtServers servers({kKey, kKey});
  NodeProcess& process = servers.process;
  process.copy(1, 0, 2'000'000, process.variable(), process.variable());
  process.set_priority(-1);
  process.copy(1, 0, 4'000'000, process.variable(), process.variable());
  const SummedPart part{1, 4'000'000, process.variable(), process.variable()};
  servers.updater.push(process, 1, {&part, 1});
  EXPECT_NEAR(servers.ms(), 2.001 + 2 * 4.001, 1e-9);
  EXPECT_EQ(process.set_priority(0), -1);  // as it was before
  EXPECT_EQ(servers.roads.count("beyond: client 0 pushes"), 1);
}

}  // namespace
}  // namespace steptime
