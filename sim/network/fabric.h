// What connects the nodes: implemented in netmodels/fabrics/, one file each.
#pragma once
#include "sim/config/registry.h"
#include "sim/network/network.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace steptime {

/// The channels between `ports` ports, and a route in O(its length) for each pair.
class Fabric {
 public:
  static constexpr const char* kNoun = "fabric";
  virtual ~Fabric() = default;
  /// The most ports that it has.
  virtual std::int64_t ports() const = 0;
  virtual std::vector<Channel> channels() const = 0;
  /// How many these are, without making them.
  virtual std::int64_t channel_count() const = 0;
  /// Appends the channels from one port to a different one, by their index in channels().
  virtual void route(std::int64_t from, std::int64_t to, std::vector<ChannelId>& path) const = 0;
};

/// What a fabric is built for: how many ports are used, and the "network" link, whose latency and
/// bandwidth are those of two neighbouring ports.
struct FabricUse {
  std::int64_t ports = 1;
  Duration latency{};
  Bandwidth bandwidth{};
};
using Fabrics = Registry<Fabric, const FabricUse&>;

/// The fabric of a cluster that names none: the "switch" of netmodels/fabrics/.
inline std::unique_ptr<Fabric> switch_fabric(const FabricUse& use) {
  return Fabrics::instance().make_default("switch", use);
}

/// The two halves of a latency that a message pays at its two ends.
struct LatencyHalves {
  explicit LatencyHalves(Duration whole) : out(whole - whole / 2), in(whole / 2) {}
  Duration out;
  Duration in;
};

}  // namespace steptime
