#include "sim/collective/link_use.h"

#include "sim/collective/collective_player.h"
#include "sim/collective/message_time.h"
#include "sim/core/limits.h"
#include "sim/network/machine.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

/// Both directions of the links inside a node, in the order of their channels
/// (sim/network/machine).
std::vector<LinkUse> links_of(const Cluster& cluster) {
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
  if (cluster.gpus_per_node == 1) return links;
  for (const bool out : {true, false}) {
    for (std::int64_t gpu = 0; gpu < cluster.gpus_per_node; ++gpu) {
      const std::string name = fmt::format("gpu{}", gpu);
      links.push_back({.from = out ? name : "switch", .to = out ? "switch" : name});
    }
  }
  return links;
}

}  // namespace

std::vector<LinkUse> link_uses(const Collective& collective, const Cluster& cluster, Bytes m) {
  expect_messages(collective, "--links plays messages: fidelity");
  const Programs programs = collective.programs(m);
  const Machine machine(cluster);
  check_events(play_cost(programs, machine), "/run/fidelity", "messages of two links", "");
  Engine engine;
  Network network(engine, machine, cluster.messages);
  CollectivePlayer player(network, programs, cluster.reduction);
  player.start_at(Time{});
  engine.run();
  const double seconds = to_seconds(player.end() - Time{});

  std::vector<LinkUse> links = links_of(cluster);
  const std::size_t of_node = links.size();
  links.push_back({.from = "network", .to = "network"});
  const std::vector<Channel> channels = machine.channels();
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const bool inside = c < of_node * static_cast<std::size_t>(cluster.nodes);
    LinkUse& link = links[inside ? c % of_node : of_node];
    const std::int64_t bytes = network.carried(static_cast<ChannelId>(c));
    const double busy =
        seconds > 0 ? static_cast<double>(bytes) / channels[c].bandwidth.bytes_per_second / seconds
                    : 0;
    if (busy <= link.busy) continue;
    link.bandwidth = channels[c].bandwidth;
    link.bytes = bytes;
    link.busy = busy;
  }
  std::erase_if(links, [](const LinkUse& link) { return link.bytes == 0; });
  std::stable_sort(links.begin(), links.end(),
                   [](const LinkUse& a, const LinkUse& b) { return a.busy > b.busy; });
  return links;
}

}  // namespace steptime
