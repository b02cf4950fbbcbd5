#include "sim/layouts/node_sharing.h"

#include "sim/network/machine.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace steptime {
namespace {

/// A message from one rank to another, and the first rank of their group.
struct SentInGroup {
  std::int32_t from;
  std::int32_t to;
  std::int32_t group;
};

/// Messages of the first node's ranks in the first place of the pipeline, each to the next rank of
/// its group.
std::vector<SentInGroup> around_rings(const LayoutPlan& plan, GroupKind kind) {
  std::vector<SentInGroup> sent;
  for (std::int32_t rank = 0; rank < plan.cluster->gpus_per_node; ++rank) {
    if (plan.place(rank) != 0) continue;
    const std::vector<std::int32_t> ranks = plan.group(kind, rank);
    const auto next = std::upper_bound(ranks.begin(), ranks.end(), rank);
    if (ranks.size() > 1)
      sent.push_back({rank, next == ranks.end() ? ranks.front() : *next, ranks.front()});
  }
  return sent;
}

/// Time per byte of the slowest of some messages, s/B.
struct Slowest {
  double beside_own = 0;  ///< Beside its own group's messages, on adapters beside all.
  double beside_all = 0;
};

Slowest slowest_of(const Cluster& cluster, const Machine& machine,
                   const std::vector<SentInGroup>& sent) {
  const std::vector<Channel> channels = machine.channels();
  const std::size_t in_nodes =
      static_cast<std::size_t>(cluster.nodes) * cluster.node->channels().size();
  std::map<ChannelId, double> all;
  std::map<std::pair<std::int32_t, ChannelId>, double> own;
  std::vector<ChannelId> path;
  for (const auto& [from, to, group] : sent) {
    path.clear();
    machine.route(from, to, path);
    for (const ChannelId c : path) {
      ++all[c];
      ++own[{group, c}];
    }
  }
  Slowest slowest;
  for (const auto& [at, count] : own) {
    const ChannelId c = at.second;
    const double each = inverse(channels[c].bandwidth).seconds_per_byte;
    slowest.beside_all = std::max(slowest.beside_all, all[c] * each);
    slowest.beside_own = std::max(slowest.beside_own, (c < in_nodes ? count : all[c]) * each);
  }
  return slowest;
}

/// Time per byte in closed form, s/B.
double seconds_per_byte(const Collective& send) {
  constexpr std::int64_t kMany = 1'000'000;
  return to_seconds(send.time({kMany}) - send.time({0})) / kMany;
}

/// Time per byte of a message between neighbours in these groups as closed forms have it, s/B.
double known_to_closed_forms(const LayoutPlan& plan, GroupKind kind, const Slowest& slowest) {
  if (kind == GroupKind::kPipeline) return seconds_per_byte(*plan.hop(0).send);
  if (kind == GroupKind::kContext) return seconds_per_byte(*plan.costs(kind).send);
  return slowest.beside_own;
}

}  // namespace

double slowed_inside_nodes(const LayoutPlan& plan) {
  const Cluster& whole = *plan.cluster;
  if (whole.node == nullptr || whole.gpus_per_node == 1) return 1;
  // Nodes are alike: what leaves the first one comes to a second one.
  Cluster cluster = whole;
  cluster.fabric = nullptr;
  const bool has_nic = !whole.node->of_kind(VertexKind::kNic).empty();
  cluster.nodes = has_nic ? std::min<std::int64_t>(whole.nodes, 2) : 1;
  const Machine machine(cluster);
  const auto gpus = static_cast<std::int32_t>(whole.gpus_per_node);
  double most = 1;
  for (const GroupKind kind : {GroupKind::kTensor, GroupKind::kContext, GroupKind::kShards,
                               GroupKind::kReplicas, GroupKind::kPipeline}) {
    std::vector<SentInGroup> sent = around_rings(plan, kind);
    for (SentInGroup& message : sent) {
      if (message.to >= gpus) message.to = gpus + message.to % gpus;
    }
    if (!has_nic) std::erase_if(sent, [gpus](const SentInGroup& s) { return s.to >= gpus; });
    if (sent.empty()) continue;
    const Slowest slowest = slowest_of(cluster, machine, sent);
    most = std::max(most, slowest.beside_all / known_to_closed_forms(plan, kind, slowest));
  }
  return most;
}

}  // namespace steptime
