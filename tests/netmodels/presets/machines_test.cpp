// Is each shipped machine what its builder says it is?
#include "sim/core/error.h"
#include "sim/network/machine.h"
#include "sim/network/read_cluster.h"
#include "tests/support/messages.h"
#include "tests/support/presets.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

struct Path {
  double gigabytes = std::numeric_limits<double>::infinity();  ///< per second
  double microseconds = 0;
};

Path path(const Cluster& cluster, Endpoint from, Endpoint to) {
  const Machine machine(cluster);
  std::vector<ChannelId> route;
  machine.route(from, to, route);
  Path path;
  const std::vector<Channel> channels = machine.channels();
  for (const ChannelId c : route) {
    const Channel& channel = channels[c];
    path.gigabytes = std::min(path.gigabytes, channel.bandwidth.bytes_per_second / 1e9);
    path.microseconds += to_seconds(channel.latency) * 1e6;
  }
  return path;
}

struct Facts {
  const char* name;
  std::int64_t nodes;    ///< as shipped
  std::int64_t gpus;     ///< of a node
  std::int64_t nics;     ///< of a node
  std::int64_t sockets;  ///< of a node
  double last_gpu;       ///< GB/s from GPU 0 to the last GPU of a node
  double other_node;     ///< GB/s from GPU 0 to GPU 0 of another node
  double other_latency;  ///< us, the same way
};

// The last GPU of a DGX-1 or p3 is behind the other socket (10 GB/s); of p2 too; of Minsky over
// NVLink to the CPU, 2 x 18.31, and its X-bus; a switch gives all of a GPU's links: 12 x 22.88,
// 18 x 20.92, 18 x 41.84. L40S are joined as slowly as was measured, and one TCP connection of
// 100GbE carries 10 Gbit/s. To another node the narrowest of PCIe (12, 24, 48) and adapter (Gbit/s
// / 8), and the adapter's latency with half a microsecond of PCIe at each end (Minsky: 0.6 of
// NVLink). Node 1 of Piz Daint is at node 0's router: no link between routers on the way.
const Facts kMachines[] = {
    {"p3.16xlarge", 1, 8, 1, 2, 10, 25.0 / 8, 30 + 1},
    {"dgx-1-v100", 1, 8, 4, 2, 10, 12, 1.29 + 1},
    {"dgx-1-p100", 1, 8, 4, 2, 10, 12, 1.29 + 1},
    {"dgx-a100", 1, 8, 8, 2, 12 * 22.88, 24, 2.13 + 1},
    {"dgx-h100", 1, 8, 8, 2, 18 * 20.92, 48, 2.13 + 1},
    {"b200", 1, 8, 8, 2, 18 * 41.84, 48, 2.13 + 1},
    {"l40s", 1, 8, 1, 2, 1.4, 10.0 / 8, 20 + 1},
    {"p2.16xlarge", 1, 16, 1, 2, 10, 20.0 / 8, 30 + 1},
    {"minsky", 64, 4, 1, 2, 2 * 18.31, 12, 1.8 + 1.2},
    {"minsky-sockets", 32, 2, 1, 2, 38.4, 12, 2 + 1},
    {"power8-kepler", 8, 4, 1, 2, 12, 12, 1.29 + 1},
    {"ri2", 16, 2, 1, 2, 12, 12, 1.29 + 1},
    {"owens", 64, 1, 1, 2, 0, 12, 1.29 + 1},
    {"pcie-4", 1, 4, 1, 2, 10, 10.0 / 8, 10 + 1},
    {"pcie-8", 1, 8, 1, 2, 10, 10.0 / 8, 10 + 1},
    {"geforce-4", 1, 4, 1, 2, 10, 10.0 / 8, 10 + 1},
    {"piz-daint", 128, 1, 1, 1, 0, 12, 1.29 + 1},
};

TEST(PresetMachines, HaveTheirParts) {
  for (const Facts& machine : kMachines) {
    const Cluster cluster = preset_cluster(machine.name);
    EXPECT_EQ(cluster.nodes, machine.nodes) << machine.name;
    ASSERT_NE(cluster.node, nullptr) << machine.name;
    EXPECT_EQ(gpus_of(cluster), machine.gpus) << machine.name;
    EXPECT_EQ(std::ssize(cluster.node->of_kind(VertexKind::kNic)), machine.nics) << machine.name;
    EXPECT_EQ(std::ssize(cluster.node->of_kind(VertexKind::kSocket)), machine.sockets)
        << machine.name;
    EXPECT_EQ(std::ssize(cluster.node->of_kind(VertexKind::kHostMemory)), machine.sockets)
        << machine.name;
    // A worker that is a socket has no GPU for NCCL to know.
    EXPECT_EQ(cluster.gpus.has_value(), std::string(machine.name) != "minsky-sockets");
  }
}

TEST(PresetMachines, HaveTheirPaths) {
  for (const Facts& machine : kMachines) {
    const Cluster two = preset_cluster(machine.name, 2, machine.gpus);
    const auto last = static_cast<Endpoint>(machine.gpus - 1);
    if (last > 0) {
      EXPECT_NEAR(path(two, 0, last).gigabytes, machine.last_gpu, 1e-9) << machine.name;
    }
    const Path away = path(two, 0, static_cast<Endpoint>(machine.gpus));
    EXPECT_NEAR(away.gigabytes, machine.other_node, 1e-9) << machine.name;
    EXPECT_NEAR(away.microseconds, machine.other_latency, 1e-9) << machine.name;
  }
}

TEST(PresetMachines, EveryMachineIsInTheTable) {
  for (const auto& preset : cluster_presets()) {
    const std::string& name = preset.first;
    if (preset_cluster(name).node == nullptr) continue;
    const bool listed = std::any_of(std::begin(kMachines), std::end(kMachines),
                                    [&](const Facts& f) { return name == f.name; });
    EXPECT_TRUE(listed) << name;
  }
}

// Two GPUs of Minsky's first socket: two NVLinks of their own, not the way over the CPU.
TEST(PresetMachines, MinskyIsTwoCliques) {
  const Cluster node = preset_cluster("minsky", 1, 4);
  EXPECT_NEAR(path(node, 0, 1).gigabytes, 2 * 18.31, 1e-9);
  EXPECT_NEAR(path(node, 0, 1).microseconds, 0.6, 1e-9);
  EXPECT_NEAR(path(node, 2, 3).microseconds, 0.6, 1e-9);
  EXPECT_NEAR(path(node, 1, 2).microseconds, 0.6 + 0.6, 1e-9);  // GPU, CPU, CPU, GPU
}

// 4 nodes on a router, 16 routers in a row: nodes 0 to 63 are one chassis, 384 nodes one group. A
// link in a row 5.25 GB/s, in a column 15.75 GB/s, which PCIe (12 GB/s) is narrower than.
TEST(PresetMachines, PizDaintIsADragonfly) {
  const Cluster daint = preset_cluster("piz-daint", 400, 1);
  const double ends = 1.29 + 1;
  EXPECT_NEAR(path(daint, 0, 3).microseconds, ends, 1e-9);
  EXPECT_NEAR(path(daint, 0, 4).gigabytes, 5.25, 1e-9);
  EXPECT_NEAR(path(daint, 0, 4).microseconds, ends + 0.1, 1e-9);
  EXPECT_NEAR(path(daint, 0, 64).gigabytes, 12, 1e-9);
  EXPECT_NEAR(path(daint, 0, 64).microseconds, ends + 0.1, 1e-9);
  EXPECT_NEAR(path(daint, 0, 68).microseconds, ends + 0.2, 1e-9);
  EXPECT_GE(path(daint, 0, 384).microseconds, ends + 0.3);  // another group
}

TEST(PresetMachines, PlainNetworks) {
  EXPECT_NEAR(path(preset_cluster("switch"), 0, 5).microseconds, 10, 1e-9);
  EXPECT_NEAR(path(preset_cluster("ring"), 0, 3).microseconds, 3 * 10, 1e-9);
  // 4 hosts on an edge switch, 16 in a pod of radix 8: up and down two links, then four.
  EXPECT_NEAR(path(preset_cluster("fat-tree"), 0, 3).microseconds, 10, 1e-9);
  EXPECT_NEAR(path(preset_cluster("fat-tree"), 0, 4).microseconds, 10 + 2 * 0.5, 1e-9);
  EXPECT_NEAR(path(preset_cluster("fat-tree", 17, 1), 0, 16).microseconds, 10 + 4 * 0.5, 1e-9);
}

TEST(PresetMachines, MoreGpusThanThereAreIsAnError) {
  EXPECT_EQ(message_of<InputError>([] { preset_cluster("p3.16xlarge", 1, 9); }),
            "x.json: /cluster/node: has 8 vertices of kind \"gpu\", but gpus_per_node is 9");
}

}  // namespace
}  // namespace steptime
