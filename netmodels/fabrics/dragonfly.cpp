// Dragonfly: groups of routers that are linked all to all, and one link between any two groups.
//
// Scope: minimal routes (at most local, global, local). The link from group g to group h leaves g
// at router (h - g - 1 mod groups) mod routers.
// Parameters: groups, routers per group, hosts per router, local_bandwidth and global_bandwidth
// [B/s; default: that of "network"], local_latency and global_latency [s, added by such a link].
// Source: Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA
// 2008.
#include "sim/fabric.h"

#include <memory>
#include <string>

#include <fmt/format.h>

namespace steptime {
namespace {

Param count(const char* key, const char* help) {
  return {.key = key, .kind = Kind::kInteger, .help = help, .range = {.low = 1, .high = 4096}};
}
Param bandwidth(const char* key) {
  return {.key = key,
          .kind = Kind::kBandwidth,
          .help = "default: of \"network\"",
          .need = Need::kOptional,
          .range = kPositive};
}
Param latency(const char* key) {
  return {.key = key,
          .kind = Kind::kTime,
          .help = "added by such a link",
          .need = Need::kDefault,
          .fallback = "0 s",
          .range = kNotNegative};
}
const Params kParams{count("groups", "of routers"), count("routers", "of a group"),
                     count("hosts", "of a router"), bandwidth("local_bandwidth"),
                     bandwidth("global_bandwidth"), latency("local_latency"),
                     latency("global_latency")};

class Dragonfly final : public Fabric {
 public:
  Dragonfly(const Config& c, const FabricUse& use)
      : use_(use),
        groups_(c.get<std::int64_t>("groups")),
        routers_(c.get<std::int64_t>("routers")),
        hosts_(c.get<std::int64_t>("hosts")),
        local_(link(c, "local")),
        global_(link(c, "global")) {
    if (ports() < use.ports) {
      c.fail("groups", fmt::format("{} hosts at most, but {} are needed", ports(), use.ports));
    }
  }

  std::int64_t ports() const override { return groups_ * routers_ * hosts_; }

  /// Host to router, router to host, local (group, from, to), global (from, to).
  std::vector<Channel> channels() const override {
    const LatencyHalves ends(use_.latency);
    std::vector<Channel> channels(size(ports()), {use_.bandwidth, ends.out});
    channels.insert(channels.end(), size(ports()), {use_.bandwidth, ends.in});
    channels.insert(channels.end(), size(groups_ * routers_ * routers_), local_);
    channels.insert(channels.end(), size(groups_ * groups_), global_);
    return channels;
  }

  std::int64_t channel_count() const override {
    return 2 * ports() + groups_ * routers_ * routers_ + groups_ * groups_;
  }

  void route(std::int64_t from, std::int64_t to, std::vector<ChannelId>& path) const override {
    const std::int64_t router_to = to / hosts_ % routers_;
    const std::int64_t group_to = to / hosts_ / routers_;
    std::int64_t router = from / hosts_ % routers_;
    std::int64_t group = from / hosts_ / routers_;
    add(path, from);
    if (group != group_to) {
      local_hop(path, group, router, gate(group, group_to));
      add(path, 2 * ports() + groups_ * routers_ * routers_ + group * groups_ + group_to);
      router = gate(group_to, group);
      group = group_to;
    }
    local_hop(path, group, router, router_to);
    add(path, ports() + to);
  }

 private:
  Channel link(const Config& c, const std::string& which) const {
    const std::string width = which + "_bandwidth";
    return {c.has(width) ? c.get<Bandwidth>(width) : use_.bandwidth,
            c.get<Duration>(which + "_latency")};
  }
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }
  static void add(std::vector<ChannelId>& path, std::int64_t channel) {
    path.push_back(static_cast<ChannelId>(channel));
  }
  /// The router of `group` that has the link to `other`.
  std::int64_t gate(std::int64_t group, std::int64_t other) const {
    return (other - group - 1 + groups_) % groups_ % routers_;
  }
  void local_hop(std::vector<ChannelId>& path, std::int64_t group, std::int64_t from,
                 std::int64_t to) const {
    if (from != to) add(path, 2 * ports() + (group * routers_ + from) * routers_ + to);
  }

  FabricUse use_;
  std::int64_t groups_;
  std::int64_t routers_;
  std::int64_t hosts_;
  Channel local_;
  Channel global_;
};

const bool kRegistered = Fabrics::instance().add(
    "dragonfly", "all-to-all groups of routers, one link between two groups", kParams,
    [](const Config& c, const FabricUse& use) { return std::make_unique<Dragonfly>(c, use); });

}  // namespace
}  // namespace steptime
