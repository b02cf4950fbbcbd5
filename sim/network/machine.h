// A cluster as channels and routes: the workers are endpoints, in node order, and after them the
// guests, if there are any. A route between nodes goes through the sender's node to a NIC, through
// the fabric, and through the receiver's node.
#pragma once
#include "sim/network/cluster.h"
#include "sim/network/fabric.h"
#include "sim/network/network.h"
#include "sim/network/pairs.h"
#include "sim/network/topology.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace steptime {

/// Endpoints that are no workers: after all workers, the host of every node, and after those, nodes
/// that stand beside the cluster's, each a port of the fabric. A host is the node's first vertex of
/// kind "host-memory"; without a graph of the node it is one more port beside those of the GPUs, as
/// wide as that many of these.
struct Guests {
  std::int64_t nodes = 0;
  bool hosts = false;
  std::int64_t host_links = 1;
};

class Machine final : public Routes {
 public:
  /// Throws PlacedError when some endpoint cannot reach another.
  explicit Machine(const Cluster& cluster, Guests guests = {});

  /// Throws PlacedError when they are more than can be held.
  std::vector<Channel> channels() const override;
  std::int64_t channel_count() const;
  Endpoint endpoints() const override {
    return static_cast<Endpoint>(workers() + (guests_.hosts ? nodes_ : 0) + guests_.nodes);
  }
  void route(Endpoint from, Endpoint to, std::vector<ChannelId>& path) const override;

  /// The link between any two workers when it is the same for all pairs and each worker has it to
  /// itself; in the same way for the workers of one node, and for one worker of each node.
  std::optional<Link> uniform(Pairs where) const;

  /// Appends the channels that the worker's ways to the others of its node cross, and theirs to it,
  /// each once.
  void to_neighbours(Endpoint worker, std::vector<ChannelId>& channels) const;

  /// Makes one channel slower or faster: the links are then no longer equal.
  void set_bandwidth(ChannelId channel, Bandwidth bandwidth);

 private:
  using Paths = Topology::Paths;
  /// Where an endpoint is: the `local`-th of a node, or, with local < 0, a guest node.
  struct Place {
    std::int64_t node = 0;
    std::int64_t local = -1;
  };
  std::int64_t workers() const { return nodes_ * gpus_; }
  /// Endpoints in each node.
  std::int64_t locals() const { return gpus_ + (guests_.hosts ? 1 : 0); }
  bool has_fabric() const { return nodes_ + guests_.nodes > 1; }
  std::vector<Channel> build_star(const Cluster& cluster);
  std::vector<Channel> build_graph(const Cluster& cluster);
  void find_nic(std::size_t local, const Topology& node, const Paths& routes,
                std::span<const Paths> nic_routes);
  void find_neighbours();
  void build_fabric(const Cluster& cluster);
  Place place_of(Endpoint endpoint) const;
  std::int64_t port_of(Place place) const;
  const std::vector<ChannelId>& inside(std::int64_t from, std::int64_t to) const {
    return local_to_local_[static_cast<std::size_t>(from * locals() + to)];
  }

  std::int64_t nodes_;
  std::int64_t gpus_;
  Guests guests_;
  std::int64_t nics_ = 1;  ///< NICs of each node
  // The channels of every node come first, then the fabric's.
  std::vector<Channel> node_channels_;
  ChannelId fabric_first_ = 0;
  bool fifo_ports_;
  std::map<ChannelId, Bandwidth> changed_;
  // Within a node, by its endpoints (the GPUs, then the host) and its channels.
  std::vector<Topology::Vertex> vertices_;  ///< where the endpoints are in the node's graph
  Paths local_to_local_;                    ///< from * locals + to; empty for a star
  Paths to_neighbours_;                     ///< by GPU: to_neighbours(), ascending
  Paths out_;                               ///< from the endpoint to its NIC
  Paths in_;
  std::vector<std::int64_t> nic_of_;  ///< the NIC that each endpoint uses
  std::shared_ptr<const Fabric> fabric_;
  std::optional<Link> in_node_;
  std::optional<Link> between_nodes_;
};

}  // namespace steptime
