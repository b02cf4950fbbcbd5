// Links between nodes that are slower than they should be: a bad cable, a worn adapter, a port of
// the switch that another job keeps busy.
//
// Scope: all that leads from a node into the network and back, over each of its NICs; links
// inside nodes and between switches are as they should be. Schedules plan as if no link were slow.
#pragma once
#include "sim/config/binding.h"
#include "sim/network/cluster.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace steptime {

/// A node whose links to the fabric are slow.
struct SlowNode {
  std::int64_t node = 0;                ///< the first one is 0
  std::optional<std::int64_t> adapter;  ///< the only slow one of its NICs; none: all are
  double factor = 1;                    ///< how many times as long a byte takes
  friend bool operator==(const SlowNode&, const SlowNode&) = default;
};

struct SlowLinks {
  double chance = 0;                  ///< probability that a node is slow
  std::vector<std::int64_t> nodes{};  ///< slow ones, whatever is drawn
  double factor = 1;                  ///< by which these, and nodes that are drawn, are slow
  std::vector<SlowNode> adapters{};   ///< slow ones, by factors of their own

  /// Those among `count` nodes, in ascending order. A node that is slow with one chance is so with
  /// each larger one, and with any number of nodes. The last one of a node or adapter counts.
  std::vector<SlowNode> drawn(std::int64_t count, std::int64_t seed) const;
};

/// The cluster with slow links between these of its nodes and the fabric.
Cluster slowed(Cluster cluster, std::span<const SlowNode> nodes);

const Bindings<SlowLinks>& slow_link_keys();

}  // namespace steptime
