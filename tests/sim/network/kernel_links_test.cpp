// Links inside nodes while kernels run.
#include "sim/network/kernel_links.h"

#include "tests/support/messages.h"
#include "tests/support/play.h"
#include "tests/support/wires.h"

#include <memory>
#include <utility>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// One node of so many GPUs: 1 GB/s, a byte takes 1000 ps.
Cluster node_of(std::int64_t gpus) {
  Cluster cluster;
  cluster.gpus_per_node = gpus;
  cluster.intra_node = {Duration{}, {1e9}};
  return cluster;
}

void run_from(Engine& engine, KernelLinks& links, Endpoint worker, std::int64_t from,
              std::int64_t to) {
  for (const auto& [at, run] : {std::pair(from, true), {to, false}})
    engine.at(Time(Duration(at)), Phase::kNormal,
              [&links, worker, on = run] { links.set(worker, on); });
}

// GPU 1 computes from 100 to 400 ns, when a byte to or from it takes 3 ns. From GPU 0 to it 200 B
// are sent at 0: 100 B until 100 ns, the other hundred until 400. From GPU 2 to GPU 3 nothing is
// slower.
TEST(KernelLinks, AreSlowerAsLongAsAnEndComputes) {
  const Machine machine(node_of(4));
  Engine engine;
  Network network(engine, machine);
  KernelLinks links(network, machine, 3);
  Mailbox box(network);
  run_from(engine, links, 1, 100'000, 400'000);
  box.send(0, 1, 200, 0);
  box.send(2, 3, 200, 1);
  engine.run();
  EXPECT_EQ(box.at[0], 400'000);
  EXPECT_EQ(box.at[1], 200'000);
}

// Both GPUs use the one link between two switches, which is slower while either computes: from 0
// to 300 ns and from 100 to 500. 300 B take 500 ns for 250 B, and 50 ns more.
TEST(KernelLinks, AreSlowerWhileAnyGpuComputesWhoseWaysCrossThem) {
  Cluster cluster = node_of(2);
  auto node = std::make_shared<Topology>();
  const auto first = node->add_vertex("g0", VertexKind::kGpu);
  const auto second = node->add_vertex("g1", VertexKind::kGpu);
  const auto one = node->add_vertex("s0", VertexKind::kPcieSwitch);
  const auto other = node->add_vertex("s1", VertexKind::kPcieSwitch);
  node->add_link({first, one, Duration{}, {9e9}, 1, ""});
  node->add_link({one, other, Duration{}, {1e9}, 1, ""});
  node->add_link({other, second, Duration{}, {9e9}, 1, ""});
  cluster.node = node;
  const Machine machine(cluster);
  Engine engine;
  Network network(engine, machine);
  KernelLinks links(network, machine, 2);
  Mailbox box(network);
  run_from(engine, links, 0, 0, 300'000);
  run_from(engine, links, 1, 100'000, 500'000);
  box.send(0, 1, 300);
  engine.run();
  EXPECT_EQ(box.at[0], 550'000);
}

}  // namespace
}  // namespace steptime
