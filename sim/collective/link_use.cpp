#include "sim/collective/link_use.h"

#include "sim/collective/collective_player.h"
#include "sim/collective/message_time.h"
#include "sim/core/limits.h"
#include "sim/network/machine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

/// Both directions of the links inside a node, in the order of their channels
/// (sim/network/machine).
std::vector<LinkUse> links_of(const Cluster& cluster, bool by_hosts) {
  std::vector<LinkUse> links;
  if (cluster.node) {
    const auto& vertices = cluster.node->vertices();
    for (const auto& link : cluster.node->links()) {
      const auto& first = vertices[static_cast<std::size_t>(link.first)].name;
      const auto& second = vertices[static_cast<std::size_t>(link.second)].name;
      links.push_back({.from = first, .to = second, .kind = link.kind});
      links.push_back({.from = second, .to = first, .kind = link.kind});
    }
    return links;
  }
  const std::int64_t locals = cluster.gpus_per_node + (by_hosts ? 1 : 0);
  if (locals == 1) return links;
  for (const bool out : {true, false}) {
    for (std::int64_t local = 0; local < locals; ++local) {
      const std::string name = local < cluster.gpus_per_node ? fmt::format("gpu{}", local) : "host";
      links.push_back({.from = out ? name : "switch", .to = out ? "switch" : name});
    }
  }
  return links;
}

std::vector<std::int64_t> carried_by(const Network& network, const Machine& machine) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(machine.channel_count()));
  for (std::size_t c = 0; c < bytes.size(); ++c)
    bytes[c] = network.carried(static_cast<ChannelId>(c));
  return bytes;
}

}  // namespace

std::vector<LinkUse> link_uses(const Cluster& cluster, const Machine& machine,
                               const Network& network, const Carried& carried) {
  return link_uses(cluster, machine, carried_by(network, machine), carried);
}

std::vector<LinkUse> link_uses(const Cluster& cluster, const Machine& machine,
                               std::span<const std::int64_t> bytes, const Carried& carried) {
  std::vector<LinkUse> links = links_of(cluster, carried.by_hosts);
  const std::size_t of_node = links.size();
  links.push_back({.from = "network", .to = "network"});
  const std::vector<Channel> channels = machine.channels();
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const bool inside = c < of_node * static_cast<std::size_t>(cluster.nodes);
    LinkUse& link = links[inside ? c % of_node : of_node];
    const auto carries = static_cast<double>(bytes[c]);
    const double busy = carried.seconds > 0
                            ? carries / channels[c].bandwidth.bytes_per_second / carried.seconds
                            : 0;
    if (busy <= link.busy) continue;
    link.bandwidth = channels[c].bandwidth;
    link.bytes = std::llround(carries / carried.steps);
    link.busy = busy;
  }
  std::erase_if(links, [](const LinkUse& link) { return link.bytes == 0; });
  std::stable_sort(links.begin(), links.end(),
                   [](const LinkUse& a, const LinkUse& b) { return a.busy > b.busy; });
  return links;
}

CarriedAlone carried_alone(const Collective& collective, const Cluster& cluster,
                           const Machine& machine, Bytes m) {
  expect_messages(collective, "--links plays messages: fidelity");
  const Programs programs = collective.programs(m);
  check_events(play_cost(programs, machine), "/run/fidelity", "messages of two links", "");
  Engine engine;
  Network network(engine, machine, cluster.messages);
  CollectivePlayer player(network, programs, cluster.reduction);
  player.start_at(Time{});
  engine.run();
  return {carried_by(network, machine), player.end() - Time{}};
}

std::vector<LinkUse> link_uses(const Collective& collective, const Cluster& cluster, Bytes m) {
  const Machine machine(cluster);
  const CarriedAlone alone = carried_alone(collective, cluster, machine, m);
  return link_uses(cluster, machine, alone.bytes, {.seconds = to_seconds(alone.time)});
}

Json links_json(std::span<const LinkUse> links) {
  Json list = Json::array();
  for (const LinkUse& link : links) {
    list.push_back({{"from", link.from},
                    {"to", link.to},
                    {"kind", link.kind},
                    {"bandwidth_GBps", link.bandwidth.bytes_per_second / 1e9},
                    {"bytes", link.bytes},
                    {"busy", link.busy}});
  }
  return list;
}

}  // namespace steptime
