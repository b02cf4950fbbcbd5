// What the collectives, pushes and pulls of a training run go through: closed forms and ports, or
// messages on links.
#pragma once
#include "sim/collective/collective.h"
#include "sim/collective/link_use.h"
#include "sim/runtime/mediums.h"
#include "sim/runtime/world.h"
#include "sim/servers/channel.h"
#include "sim/servers/node_ports.h"
#include "sim/servers/piece_wire.h"
#include "sim/servers/port_wire.h"
#include "sim/servers/wire.h"
#include "sim/training/plan.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace steptime {

class Roads {
 public:
  /// Both must outlive the roads.
  Roads(World& world, const TrainingPlan& plan) : world_(world), plan_(plan) {}
  virtual ~Roads() = default;
  /// For the collectives among the workers of a client.
  virtual std::unique_ptr<Medium> medium(std::int32_t client, const Collective& collective) = 0;
  /// Kernels of a GPU run from now on, or no longer do, where the plan says that they slow links
  /// down.
  virtual void set_kernels(std::int64_t /*worker*/, bool /*run*/) {}
  /// To the servers of all clients.
  std::unique_ptr<Wire> wire();
  /// With servers beyond the nodes: between the workers of a node, and as a client behind these its
  /// host, and where the node adds up.
  std::unique_ptr<PieceLine> line_in_node(std::int32_t node);
  /// Between the hosts of the nodes and the servers beyond.
  std::unique_ptr<PieceLine> line_beyond();
  /// What pushes and pulls go through before and behind that, or behind the wire's.
  std::unique_ptr<ChannelEnds> channel();
  /// For copies inside the nodes, each a message at both fidelities: its endpoints are the workers,
  /// and behind them the hosts of the nodes.
  virtual Network& in_nodes() = 0;
  /// What links have carried in so many seconds, for one of so many steps; none where there are
  /// none.
  virtual std::vector<LinkUse> links(double /*seconds*/, double /*steps*/) const { return {}; }

 protected:
  /// Those where clients meet last.
  const ServerGroup& last_servers() const { return plan_.aggregation.last_servers(); }
  /// Nodes of theirs beside the cluster's.
  std::int64_t more_nodes() const {
    return last_servers().placement->more_nodes(last_servers().count);
  }

  World& world_;
  const TrainingPlan& plan_;

 private:
  /// `in_node`: they copy among the GPUs of a node and its host.
  virtual std::unique_ptr<PieceLine> line(PortEnds ends, const Pieces& pieces, bool in_node) = 0;
  /// To the servers, with nothing before it or behind it.
  virtual std::unique_ptr<Wire> bare_wire(PortEnds ends) = 0;
  std::vector<PortEnd> server_ends() const;
};
}  // namespace steptime
