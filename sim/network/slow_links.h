// Links between nodes that are slower than they should be: a bad cable, a worn adapter, a port of
// the switch that another job keeps busy.
//
// Scope: all that leads from a node into the network and back, over each of its NICs; links
// inside nodes and between switches are as they should be. Schedules plan as if no link were slow.
#pragma once
#include "sim/config/binding.h"
#include "sim/network/cluster.h"

#include <cstdint>
#include <span>
#include <vector>

namespace steptime {

struct SlowLinks {
  double chance = 0;  ///< probability that a node is slow
  /// Nodes that are slow whatever is drawn; the first node is 0.
  std::vector<std::int64_t> nodes{};
  double factor = 1;  ///< how many times as long a byte takes

  /// The numbers of the slow ones among `count` nodes, in ascending order. A node that is slow
  /// with one chance is so with each larger one, and with any number of nodes.
  std::vector<std::int64_t> drawn(std::int64_t count, std::int64_t seed) const;
};

/// The cluster with slow links between these of its nodes and the fabric.
Cluster slowed(Cluster cluster, std::span<const std::int64_t> nodes, double factor);

const Bindings<SlowLinks>& slow_link_keys();

}  // namespace steptime
