// The machines: nodes, GPUs, and the alpha, beta and gamma of the link that limits a collective.
#pragma once
#include "sim/config.h"
#include "sim/gpus.h"
#include "sim/registry.h"
#include "sim/units.h"

#include <cstdint>
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
class Network {
 public:
  static constexpr const char* kNoun = "network";
  virtual ~Network() = default;
  /// The path between two of `endpoints` neighbours while no other transfer shares it.
  virtual Link link(std::int64_t endpoints) const = 0;
};
using Networks = Registry<Network>;

struct Cluster {
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 1;
  Link network;                 ///< between nodes
  Link intra_node;              ///< between the GPUs of a node
  TimePerByte reduction;        ///< gamma: adding two values that are in memory, per byte
  std::optional<GpuNode> gpus;  ///< when the section says what the GPUs are

  std::int64_t workers() const { return nodes * gpus_per_node; }
  /// The link that a flat collective over all workers runs at: the network as soon as there are
  /// two nodes.
  const Link& bottleneck() const { return nodes > 1 ? network : intra_node; }
};

/// Reads the "cluster" section: a preset with overrides, or spelled out.
Cluster read_cluster(const Config& section);
const Params& cluster_params();

/// Names of the shipped presets (netmodels/presets/*.json), each with its one-line description.
std::vector<std::pair<std::string, std::string>> cluster_presets();

}  // namespace steptime
