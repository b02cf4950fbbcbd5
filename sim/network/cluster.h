// The machines: nodes, GPUs, and the alpha, beta and gamma of the link that limits a collective.
#pragma once
#include "sim/config/config.h"
#include "sim/config/registry.h"
#include "sim/core/units.h"
#include "sim/network/fabric.h"
#include "sim/network/gpus.h"
#include "sim/network/network.h"
#include "sim/network/topology.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace steptime {

/// A point-to-point path: a message of M bytes takes latency + M / bandwidth.
struct Link {
  Duration latency{};
  Bandwidth bandwidth{};
};

/// How nodes, or the GPUs of a node, are connected: implemented in netmodels/.
class NetworkKind {
 public:
  static constexpr const char* kNoun = "network";
  virtual ~NetworkKind() = default;
  /// The path between two of `endpoints` neighbours while no other transfer shares it, to a library
  /// that opens one connection between them.
  virtual Link link(std::int64_t endpoints) const = 0;
  /// What `connections` between the same two carry together; none: as one does.
  virtual std::optional<Bandwidth> together(std::int64_t /*connections*/) const { return {}; }
  /// Ends of the rates that networks of its name were measured at, over the one that it has.
  struct Known {
    double slowest = 1;
    double fastest = 1;
  };
  virtual Known known() const { return {}; }
  /// Why its numbers are no measured ones; "" when they are taken as such.
  virtual std::string outside_domain() const { return ""; }
};
using NetworkKinds = Registry<NetworkKind>;

struct Cluster {
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 1;
  Link network;     ///< between nodes, NIC to NIC where `node` has NICs
  Link intra_node;  ///< between the GPUs of a node
  /// How many times as long a byte takes between them while their kernels run; at least 1.
  double intra_node_beside_kernels = 1;
  /// How many times as long as `node` and `gpus` say a byte takes there: on their links between
  /// GPUs, whose routes and choices are those without.
  double inside_slowdown = 1;
  TimePerByte reduction;        ///< gamma: adding two values that are in memory, per byte
  std::optional<GpuNode> gpus;  ///< when the section says what the GPUs are
  std::string profile;          ///< file of the preset, where that has measured collectives
  std::shared_ptr<const NetworkKind>
      kind{};  ///< what `network` is; null where only its link is known

  /// The first GPUs of two nodes with a graph: the network with the way to the NIC and from it.
  std::optional<Link> gpu_to_gpu;

  // What only message fidelity looks at.
  std::shared_ptr<const Topology> node;  ///< inside of a node; null: its GPUs are on one switch
  RouteMetric metric = RouteMetric::kShortest;
  /// Between the nodes; empty: one switch.
  std::function<std::unique_ptr<Fabric>(const FabricUse&)> fabric;
  MessageOptions messages;
  bool fifo_ports = false;  ///< a port of the fabric carries one message at a time

  std::int64_t workers() const { return nodes * gpus_per_node; }
  /// As collectives find it while kernels run on every GPU.
  Cluster beside_kernels() const;
  /// Between GPUs of different nodes, in a closed form.
  const Link& between_nodes() const { return gpu_to_gpu ? *gpu_to_gpu : network; }
  /// The link that a flat collective over all workers runs at: that between nodes as soon as there
  /// are two.
  const Link& bottleneck() const { return nodes > 1 ? between_nodes() : intra_node; }
};

/// The way between the first GPUs of two nodes with a graph on one switch. Throws PlacedError when
/// some GPU cannot reach another.
Link link_over_nics(Cluster cluster);

}  // namespace steptime
