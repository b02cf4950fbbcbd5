#include "sim/network/fabric_rate.h"

#include "sim/network/adapters.h"

#include <algorithm>
#include <vector>

namespace steptime {
namespace {

/// Up to so many ports all distances between them are looked at.
constexpr std::int64_t kFewPorts = 128;

class Ways {
 public:
  Ways(const Fabric& fabric, const FabricUse& use)
      : fabric_(fabric), use_(use), channels_(fabric.channels()), loads_(channels_.size()) {}

  /// Every port sends to the one so far behind it, where there is one.
  bool are_free(std::int64_t distance) {
    std::fill(loads_.begin(), loads_.end(), 0);
    for (std::int64_t from = 0; from < use_.ports; ++from) {
      const std::int64_t to = from + distance;
      if (to >= 0 && to < use_.ports && !is_free(from, to)) return false;
    }
    return true;
  }

 private:
  bool is_free(std::int64_t from, std::int64_t to) {
    path_.clear();
    fabric_.route(from, to, path_);
    Duration latency{};
    for (const ChannelId c : path_) {
      const Channel& channel = channels_[c];
      latency += channel.latency;
      loads_[c] += 1;
      if (loads_[c] * use_.bandwidth.bytes_per_second > channel.bandwidth.bytes_per_second)
        return false;
    }
    return latency <= use_.latency;
  }

  const Fabric& fabric_;
  FabricUse use_;
  std::vector<Channel> channels_;
  std::vector<double> loads_;  ///< messages that each carries
  std::vector<ChannelId> path_;
};

}  // namespace

bool is_like_one_switch(const Cluster& cluster) {
  if (cluster.nodes == 1 || !cluster.fabric) return true;
  const FabricUse use{cluster.nodes * adapters_of(cluster), cluster.network.latency,
                      cluster.network.bandwidth};
  const auto fabric = cluster.fabric(use);
  Ways ways(*fabric, use);
  for (std::int64_t distance = 1; distance < use.ports;
       distance = use.ports <= kFewPorts ? distance + 1 : 2 * distance) {
    if (!ways.are_free(distance) || !ways.are_free(-distance)) return false;
  }
  return true;
}

}  // namespace steptime
