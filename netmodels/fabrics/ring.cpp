// A ring of ports: each is linked to the next one, and a message goes the shorter way round.
//
// Scope: two channels per link; both ways of equal length: upwards.
// Parameters: none; latency (of one hop) and bandwidth (of one link) are those of "network".
#include "sim/network/fabric.h"

#include <memory>

namespace steptime {
namespace {

class RingFabric final : public Fabric {
 public:
  explicit RingFabric(const FabricUse& use) : use_(use) {}
  std::int64_t ports() const override { return use_.ports; }
  /// Channel p goes from port p to p + 1, channel `ports` + p from p to p - 1.
  std::vector<Channel> channels() const override {
    return std::vector<Channel>(static_cast<std::size_t>(2 * use_.ports),
                                {use_.bandwidth, use_.latency});
  }
  std::int64_t channel_count() const override { return 2 * use_.ports; }
  void route(std::int64_t from, std::int64_t to, std::vector<ChannelId>& path) const override {
    const std::int64_t n = use_.ports;
    const std::int64_t up = (to - from + n) % n;
    if (2 * up <= n) {
      for (; from != to; from = (from + 1) % n)
        path.push_back(static_cast<ChannelId>(from));
    } else {
      for (; from != to; from = (from - 1 + n) % n)
        path.push_back(static_cast<ChannelId>(n + from));
    }
  }

 private:
  FabricUse use_;
};

const bool kRegistered = Fabrics::instance().add(
    "ring", "each node linked to the next; the shorter way round", {},
    [](const Config&, const FabricUse& use) { return std::make_unique<RingFabric>(use); });

}  // namespace
}  // namespace steptime
