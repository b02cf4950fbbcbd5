// Three-level fat tree of switches with k ports: k pods of k/2 edge and k/2 aggregation switches,
// (k/2)^2 core switches, k^3/4 hosts.
//
// Scope: full bisection; destination-based routes (D-mod-k): the host's number chooses the way up,
// so that the flows to one host share their way and those to different hosts of an edge do not.
// Parameters: radix k (even), hop_latency [s, added by each link between switches], bandwidth [B/s,
// of a link between switches; default: that of "network"].
// Source: Al-Fares, Loukissas, Vahdat, "A scalable, commodity data center network architecture",
// SIGCOMM 2008.
#include "sim/network/fabric.h"

#include <memory>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params kParams{{.key = "radix",
                      .kind = Kind::kInteger,
                      .help = "ports of a switch, even",
                      .range = {.low = 2, .high = 512}},
                     {.key = "hop_latency",
                      .kind = Kind::kTime,
                      .help = "added by each link between switches",
                      .need = Need::kDefault,
                      .fallback = "0 s",
                      .range = kNotNegative},
                     {.key = "bandwidth",
                      .kind = Kind::kBandwidth,
                      .help = "of a link between switches; default: of \"network\"",
                      .need = Need::kOptional,
                      .range = kPositive}};

class FatTree final : public Fabric {
 public:
  FatTree(const Config& c, const FabricUse& use)
      : use_(use),
        half_(c.get<std::int64_t>("radix") / 2),
        between_{c.has("bandwidth") ? c.get<Bandwidth>("bandwidth") : use.bandwidth,
                 c.get<Duration>("hop_latency")} {
    if (const auto radix = c.get<std::int64_t>("radix"); radix % 2 != 0)
      c.fail("radix", fmt::format("expected an even number, got {}", radix));
    if (ports() < use.ports) {
      c.fail("radix", fmt::format("{} hosts at most, but {} are needed", ports(), use.ports));
    }
  }

  std::int64_t ports() const override { return 2 * half_ * half_ * half_; }

  /// In this order, each `ports()` long: host to edge, edge to host, edge to aggregation and back,
  /// aggregation to core and back. There are as many links on every level as there are hosts.
  std::vector<Channel> channels() const override {
    const LatencyHalves latency(use_.latency);
    const auto links = static_cast<std::size_t>(ports());
    std::vector<Channel> channels(links, {use_.bandwidth, latency.out});
    channels.insert(channels.end(), links, {use_.bandwidth, latency.in});
    channels.insert(channels.end(), 4 * links, between_);
    return channels;
  }

  std::int64_t channel_count() const override { return 6 * ports(); }

  void route(std::int64_t from, std::int64_t to, std::vector<ChannelId>& path) const override {
    const std::int64_t edge_from = from / half_;
    const std::int64_t edge_to = to / half_;
    const std::int64_t pod_from = edge_from / half_;
    const std::int64_t pod_to = edge_to / half_;
    const std::int64_t up = to % half_;              // which aggregation switch
    const std::int64_t core = (to / half_) % half_;  // which of its core switches
    add(path, 0, from);
    if (edge_from != edge_to) {
      add(path, 2, edge_from * half_ + up);
      if (pod_from != pod_to) {
        add(path, 4, (pod_from * half_ + up) * half_ + core);
        add(path, 5, (pod_to * half_ + up) * half_ + core);
      }
      add(path, 3, edge_to * half_ + up);
    }
    add(path, 1, to);
  }

 private:
  void add(std::vector<ChannelId>& path, std::int64_t level, std::int64_t link) const {
    path.push_back(static_cast<ChannelId>(level * ports() + link));
  }

  FabricUse use_;
  std::int64_t half_;
  Channel between_;
};

const bool kRegistered = Fabrics::instance().add(
    "fat-tree", "three levels of k-port switches, k^3/4 hosts", kParams,
    [](const Config& c, const FabricUse& use) { return std::make_unique<FatTree>(c, use); });

}  // namespace
}  // namespace steptime
