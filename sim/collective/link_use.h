// What one collective carries over each link of a cluster that carries nothing else.
#pragma once
#include "sim/collective/collective.h"
#include "sim/network/cluster.h"

#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

/// One direction of a link inside a node, on the node where it is busiest; or, with no `kind`, the
/// busiest channel of what connects the nodes.
struct LinkUse {
  std::string from;  ///< vertices of the node's graph; of a node without one, "gpu0" and "switch"
  std::string to;
  std::string kind;
  Bandwidth bandwidth{};
  std::int64_t bytes = 0;
  double busy = 0;  ///< of the collective's time; the link with most is the one that limits it
};

/// Those that carry anything, the busiest first. Plays the messages of `m` bytes. Throws
/// PlacedError when the collective is known by its time only, or has too many messages.
std::vector<LinkUse> link_uses(const Collective& collective, const Cluster& cluster, Bytes m);

}  // namespace steptime
