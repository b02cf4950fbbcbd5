#include "tests/sim/training/own/bounded_staleness.h"

#include "sim/core/error.h"
#include "sim/network/cluster.h"
#include "sim/servers/node_ports.h"
#include "sim/servers/port_wire.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

/// Worker 0 computes for 40 ms a step, worker 1 for 10. Each has a node, as has the server, whose
/// one bucket takes 2 ms to be pushed and 2 to be pulled: 1 MB at 1 GB/s and 1 ms.
struct Scene {
  explicit Scene(std::int64_t bound) : run(world, *servers, 1, compute, bound) {}
  void play(std::int64_t steps_of_slow, std::int64_t steps_of_fast) {
    world.spawn({"worker", 0}, plays(0, steps_of_slow));
    world.spawn({"worker", 1}, plays(1, steps_of_fast));
    world.run();
    world.expect_over();
  }
  Task plays(std::size_t me, std::int64_t steps) {
    co_await run.worker(me, steps);
    end[me] = since_start(world.now()) / milliseconds(1);
  }

  static constexpr Link kLink{milliseconds(1), {1e9}};
  Cluster cluster{.nodes = 3, .network = kLink, .intra_node = kLink};
  std::vector<Duration> compute{milliseconds(40), milliseconds(10)};
  World world;
  NodePorts ports{world.engine, cluster, 3, 1};
  Pieces pieces{{{.server = 0, .bytes = {1'000'000}}}};
  PortWire wire{world, ports, {{{0, 0}, {1, 1}}, {{2}}, true}, pieces};
  std::unique_ptr<Servers> servers =
      asynchronous_servers(world, wire, pieces, {.clients = 2, .servers = 1});
  BoundedStaleness run;
  std::vector<std::int64_t> end{0, 0};  ///< of each worker's last step, ms
};

TEST(BoundedStaleness, HoldsTheFastBack) {
  // A step takes the slow worker 40 + 4 ms and the fast one 10 + 4. That one's sixth step begins
  // when the slow one has done 5 - bound; with a bound of 4 or more, when its own fifth is over, at
  // 70 ms, when the slow one has done one. Nowhere do two messages meet.
  const std::vector<std::int64_t> ends{5 * 44 + 14, 4 * 44 + 14, 3 * 44 + 14,
                                       2 * 44 + 14, 70 + 14,     70 + 14};
  for (std::int64_t bound = 0; bound < std::ssize(ends); ++bound) {
    Scene scene(bound);
    scene.play(6, 6);
    EXPECT_EQ(scene.end[0], 6 * 44) << bound;
    EXPECT_EQ(scene.end[1], ends[static_cast<std::size_t>(bound)]) << bound;
    EXPECT_EQ(scene.run.most_ahead(), std::min<std::int64_t>(bound, 4)) << bound;
    EXPECT_EQ(scene.servers->messages(), 2 * 2 * 6);
  }
}

TEST(BoundedStaleness, IsWhatTheServersCount) {
  // With a bound of 2 the pushes of the fast worker are in at 12, 26, 40, 56, 100 and 144 ms, those
  // of the slow one at 42, 86, 130, 174, 218 and 262: each meets the other's updates since its own
  // last one. The slow one meets 3, 1, 1, 1, 0 and 0, the fast one 0, 0, 0, 1, 1 and 1.
  Scene scene(2);
  scene.play(6, 6);
  EXPECT_EQ(scene.servers->staleness(), (std::vector<std::int64_t>{5, 6, 0, 1}));
}

TEST(BoundedStaleness, WaitsForEverForWhoHasStopped) {
  // The slow worker stops behind its first step, at 44 ms. The fast one, which has waited for that,
  // ends its fourth at 58, and would need two of the other's to begin its fifth.
  Scene scene(2);
  try {
    scene.play(1, 6);
    FAIL();
  } catch (const ModelFailure& e) {
    EXPECT_STREQ(e.what(),
                 "deadlock after 0.058 s: nothing happens any more, but\n"
                 "  worker 1 waits for steps of the slowest worker: has 1 of 2");
  }
}

}  // namespace
}  // namespace steptime
