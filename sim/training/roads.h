// What the collectives, pushes and pulls of a training run go through: closed forms and ports, or
// messages on links.
#pragma once
#include "sim/collective/collective.h"
#include "sim/collective/link_use.h"
#include "sim/runtime/mediums.h"
#include "sim/runtime/world.h"
#include "sim/servers/channel.h"
#include "sim/servers/piece_wire.h"
#include "sim/servers/wire.h"
#include "sim/training/plan.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace steptime {

class Roads {
 public:
  virtual ~Roads() = default;
  /// For the collectives among the workers of a client.
  virtual std::unique_ptr<Medium> medium(std::int32_t client, const Collective& collective) = 0;
  /// To the servers of all clients.
  virtual std::unique_ptr<Wire> wire() = 0;
  /// With servers beyond the nodes: between the workers of a node, and as a client behind these its
  /// host, and where the node adds up.
  virtual std::unique_ptr<PieceLine> line_in_node(std::int32_t node) = 0;
  /// Between the hosts of the nodes and the servers beyond.
  virtual std::unique_ptr<PieceLine> line_beyond() = 0;
  /// What pushes and pulls go through before and behind that, or behind the wire's.
  virtual std::unique_ptr<ChannelEnds> channel() = 0;
  /// What links have carried in so many seconds, for one of so many steps; none where there are
  /// none.
  virtual std::vector<LinkUse> links(double /*seconds*/, double /*steps*/) const { return {}; }
};
}  // namespace steptime
