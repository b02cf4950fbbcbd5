// Dragonfly: groups of routers, and one link between any two groups. The routers of a group stand
// in rows and columns, those of a row and those of a column linked all to all; one row is the plain
// dragonfly, several are Cray's (a row is a chassis, a column the same slot of each chassis).
//
// Scope: minimal routes: in a group along the row, then along the column; between groups to the
// router with the link, over it, and on in the other group. The link from group g to group h leaves
// g at router (h - g - 1 mod groups) mod routers. Adaptive detours are left out, so that a busy
// link stays the way where a real machine would route around it.
// Parameters: groups, routers per group, hosts per router, rows per group; local_bandwidth (in a
// row), column_bandwidth and global_bandwidth [B/s; default: that of "network"]; local_latency
// and global_latency [s, added by such a link].
// Source: Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA
// 2008; Faanes et al., "Cray Cascade: a scalable HPC system based on a Dragonfly network", SC 2012.
#include "sim/network/fabric.h"

#include <memory>
#include <string>

#include <fmt/format.h>

namespace steptime {
namespace {

Param count(const char* key, const char* help) {
  return {.key = key, .kind = Kind::kInteger, .help = help, .range = {.low = 1, .high = 4096}};
}
Param bandwidth(const char* key, const char* help) {
  return {.key = key,
          .kind = Kind::kBandwidth,
          .help = help,
          .need = Need::kOptional,
          .range = kPositive};
}
Param latency(const char* key, const char* help) {
  return {.key = key,
          .kind = Kind::kTime,
          .help = help,
          .need = Need::kDefault,
          .fallback = "0 s",
          .range = kNotNegative};
}
const Params kParams{
    count("groups", "of routers"),
    count("routers", "of a group"),
    count("hosts", "of a router"),
    {.key = "rows",
     .kind = Kind::kInteger,
     .help = "of routers in a group; links along rows and columns",
     .need = Need::kDefault,
     .fallback = 1,
     .range = {.low = 1, .high = 4096}},
    bandwidth("local_bandwidth", "of a link along a row; default: as `network`"),
    bandwidth("column_bandwidth", "of a link along a column; default: as `network`"),
    bandwidth("global_bandwidth", "of a link between groups; default: as `network`"),
    latency("local_latency", "added by a link inside a group"),
    latency("global_latency", "added by a link between groups")};

class Dragonfly final : public Fabric {
 public:
  Dragonfly(const Config& c, const FabricUse& use)
      : use_(use),
        groups_(c.get<std::int64_t>("groups")),
        routers_(c.get<std::int64_t>("routers")),
        hosts_(c.get<std::int64_t>("hosts")),
        rows_(c.get<std::int64_t>("rows")),
        columns_(routers_ / rows_),
        local_(link(c, "local_bandwidth", "local_latency")),
        column_(link(c, "column_bandwidth", "local_latency")),
        global_(link(c, "global_bandwidth", "global_latency")) {
    if (routers_ % rows_ != 0) {
      c.fail("rows", fmt::format("expected a divisor of the {} routers, got {}", routers_, rows_));
    }
    if (ports() < use.ports) {
      c.fail("groups", fmt::format("{} hosts at most, but {} are needed", ports(), use.ports));
    }
  }

  std::int64_t ports() const override { return groups_ * routers_ * hosts_; }

  /// Host to router, router to host; of each router those along its row (to each column), then
  /// those along its column (to each row); global (from, to).
  std::vector<Channel> channels() const override {
    const LatencyHalves ends(use_.latency);
    std::vector<Channel> channels(size(ports()), {use_.bandwidth, ends.out});
    channels.insert(channels.end(), size(ports()), {use_.bandwidth, ends.in});
    for (std::int64_t router = 0; router < groups_ * routers_; ++router) {
      channels.insert(channels.end(), size(columns_), local_);
      channels.insert(channels.end(), size(rows_), column_);
    }
    channels.insert(channels.end(), size(groups_ * groups_), global_);
    return channels;
  }

  std::int64_t channel_count() const override {
    return 2 * ports() + groups_ * routers_ * (columns_ + rows_) + groups_ * groups_;
  }

  void route(std::int64_t from, std::int64_t to, std::vector<ChannelId>& path) const override {
    const std::int64_t router_to = to / hosts_ % routers_;
    const std::int64_t group_to = to / hosts_ / routers_;
    std::int64_t router = from / hosts_ % routers_;
    std::int64_t group = from / hosts_ / routers_;
    add(path, from);
    if (group != group_to) {
      local_hop(path, group, router, gate(group, group_to));
      add(path, local(groups_ * routers_) + group * groups_ + group_to);
      router = gate(group_to, group);
      group = group_to;
    }
    local_hop(path, group, router, router_to);
    add(path, ports() + to);
  }

 private:
  Channel link(const Config& c, const char* width, const char* delay) const {
    return {c.has(width) ? c.get<Bandwidth>(width) : use_.bandwidth, c.get<Duration>(delay)};
  }
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }
  static void add(std::vector<ChannelId>& path, std::int64_t channel) {
    path.push_back(static_cast<ChannelId>(channel));
  }
  /// The router of `group` that has the link to `other`.
  std::int64_t gate(std::int64_t group, std::int64_t other) const {
    return (other - group - 1 + groups_) % groups_ % routers_;
  }
  /// The first channel out of a router, counted over all groups.
  std::int64_t local(std::int64_t router) const {
    return 2 * ports() + router * (columns_ + rows_);
  }
  void local_hop(std::vector<ChannelId>& path, std::int64_t group, std::int64_t from,
                 std::int64_t to) const {
    const std::int64_t column = to % columns_;
    const std::int64_t corner = from - from % columns_ + column;
    if (from != corner) add(path, local(group * routers_ + from) + column);
    if (corner != to) add(path, local(group * routers_ + corner) + columns_ + to / columns_);
  }

  FabricUse use_;
  std::int64_t groups_;
  std::int64_t routers_;
  std::int64_t hosts_;
  std::int64_t rows_;
  std::int64_t columns_;
  Channel local_;
  Channel column_;
  Channel global_;
};

const bool kRegistered = Fabrics::instance().add(
    "dragonfly",
    "groups of routers, all to all or in rows and columns; one link between two groups", kParams,
    [](const Config& c, const FabricUse& use) { return std::make_unique<Dragonfly>(c, use); });

}  // namespace
}  // namespace steptime
