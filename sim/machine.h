// A cluster as channels and routes: the workers are endpoints, in node order. A route between nodes
// goes through the sender's node to a NIC, through the fabric, and through the receiver's node.
#pragma once
#include "sim/cluster.h"
#include "sim/collective_program.h"
#include "sim/fabric.h"
#include "sim/topology.h"
#include "sim/transport.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace steptime {

class Machine final : public Routes {
 public:
  /// Throws InputError when some worker cannot reach another.
  explicit Machine(const Cluster& cluster);

  /// Throws InputError when they are more than can be held.
  std::vector<Channel> channels() const override;
  std::int64_t channel_count() const;
  Endpoint endpoints() const override { return static_cast<Endpoint>(nodes_ * gpus_); }
  void route(Endpoint from, Endpoint to, std::vector<ChannelId>& path) const override;

  /// The link between any two workers when it is the same for all pairs and each worker has it to
  /// itself; in the same way for the workers of one node, and for one worker of each node.
  std::optional<Link> uniform(Round::Where where) const;

  /// Makes one channel slower or faster: the links are then no longer equal.
  void set_bandwidth(ChannelId channel, Bandwidth bandwidth);

 private:
  using Paths = std::vector<std::vector<ChannelId>>;
  void build_node(const Cluster& cluster);
  void build_fabric(const Cluster& cluster);
  const std::vector<ChannelId>& inside(std::int64_t from, std::int64_t to) const {
    return gpu_to_gpu_[static_cast<std::size_t>(from * gpus_ + to)];
  }

  std::int64_t nodes_;
  std::int64_t gpus_;
  std::int64_t nics_ = 1;  ///< of a node
  // The channels of every node come first, then the fabric's.
  std::vector<Channel> node_channels_;
  ChannelId fabric_first_ = 0;
  bool fifo_ports_;
  std::map<ChannelId, Bandwidth> changed_;
  // Within a node, by GPU number and channel number of the node.
  Paths gpu_to_gpu_;  ///< from * gpus + to
  Paths out_;         ///< from the GPU to its NIC
  Paths in_;
  std::vector<std::int64_t> nic_of_;  ///< of each GPU
  std::shared_ptr<const Fabric> fabric_;
  std::optional<Link> in_node_;
  std::optional<Link> between_nodes_;
};

}  // namespace steptime
