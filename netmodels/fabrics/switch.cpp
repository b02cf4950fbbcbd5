// One non-blocking switch: a message occupies the sender's port outwards and the receiver's
// inwards.
//
// Scope: full duplex, no limit inside the switch.
// Parameters: none; latency (end to end) and bandwidth (of a port) are those of "network".
#include "sim/network/fabric.h"

#include <memory>

namespace steptime {
namespace {

class SwitchFabric final : public Fabric {
 public:
  explicit SwitchFabric(const FabricUse& use) : use_(use) {}
  std::int64_t ports() const override { return use_.ports; }
  std::vector<Channel> channels() const override {
    const LatencyHalves latency(use_.latency);
    const auto ports = static_cast<std::size_t>(use_.ports);
    std::vector<Channel> channels(2 * ports, {use_.bandwidth, latency.in});
    std::fill_n(channels.begin(), ports, Channel{use_.bandwidth, latency.out});
    return channels;
  }
  std::int64_t channel_count() const override { return 2 * use_.ports; }
  void route(std::int64_t from, std::int64_t to, std::vector<ChannelId>& path) const override {
    path.push_back(static_cast<ChannelId>(from));
    path.push_back(static_cast<ChannelId>(use_.ports + to));
  }

 private:
  FabricUse use_;
};

const bool kRegistered = Fabrics::instance().add(
    "switch", "one non-blocking switch", {},
    [](const Config&, const FabricUse& use) { return std::make_unique<SwitchFabric>(use); });

}  // namespace
}  // namespace steptime
