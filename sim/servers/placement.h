// Where the servers of a group are: on nodes of their own, on the hosts of nodes with workers, or
// on their GPUs.
#pragma once
#include <cstdint>
#include <optional>

namespace steptime {

class Placement {
 public:
  virtual ~Placement() = default;
  /// Nodes beside those of the cluster that so many servers take.
  virtual std::int64_t more_nodes(std::int64_t /*servers*/) const { return 0; }
  /// The node of a server; those beside the cluster's `nodes` come behind them.
  virtual std::int64_t node(std::int64_t server, std::int64_t nodes) const {
    return server % nodes;
  }
  /// How many of them the fullest node has.
  virtual std::int64_t per_node(std::int64_t servers, std::int64_t nodes) const {
    return (servers + nodes - 1) / nodes;
  }
  /// On which of the node's GPUs a server is; none: on the host.
  virtual std::optional<std::int32_t> gpu(std::int64_t /*server*/, std::int64_t /*gpus*/) const {
    return std::nullopt;
  }
  bool is_on_gpus() const { return gpu(0, 1).has_value(); }
  /// Whether the hosts of nodes with workers have servers.
  bool is_on_hosts() const { return more_nodes(1) == 0 && !is_on_gpus(); }
};

/// Each on a node of its own.
inline const Placement& own_nodes() {
  class OwnNodes final : public Placement {
    std::int64_t more_nodes(std::int64_t servers) const override { return servers; }
    std::int64_t node(std::int64_t server, std::int64_t nodes) const override {
      return nodes + server;
    }
    std::int64_t per_node(std::int64_t, std::int64_t) const override { return 1; }
  };
  static const OwnNodes placement;
  return placement;
}

/// Server i on the host of node i mod nodes.
inline const Placement& with_workers() {
  class WithWorkers final : public Placement {};
  static const WithWorkers placement;
  return placement;
}

/// Of a node's servers, number i on GPU i mod its GPUs.
inline const Placement& on_gpus() {
  class OnGpus final : public Placement {
    std::optional<std::int32_t> gpu(std::int64_t server, std::int64_t gpus) const override {
      return static_cast<std::int32_t>(server % gpus);
    }
  };
  static const OnGpus placement;
  return placement;
}

}  // namespace steptime
