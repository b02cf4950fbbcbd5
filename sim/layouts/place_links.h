// The links of a cluster as the exchanges of a layout use them in closed form. All ranks of a place
// of the pipeline do the same at the same time, so that one channel stands for their ports inside
// nodes, which nobody else uses, and one for their adapters, which they may share with ranks of
// other places.
#pragma once
#include "sim/layouts/layout.h"
#include "sim/network/cluster.h"
#include "sim/network/network.h"

#include <cstdint>
#include <vector>

namespace steptime {

class PlaceLinks {
 public:
  PlaceLinks(const Layout& layout, const Cluster& cluster);

  /// What a place sends and receives through.
  struct Ports {
    std::vector<ChannelId> out;
    std::vector<ChannelId> in;
  };
  const Ports& in_node(std::int32_t place) const {
    return in_node_[static_cast<std::size_t>(place)];
  }
  const Ports& between_nodes(std::int32_t place) const {
    return between_nodes_[static_cast<std::size_t>(place)];
  }
  std::int64_t channels() const { return channels_; }

 private:
  Ports add_ports();

  std::int64_t channels_ = 0;
  std::vector<Ports> in_node_;
  std::vector<Ports> between_nodes_;
};

}  // namespace steptime
