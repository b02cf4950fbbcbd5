#include "sim/layouts/group_collectives.h"

#include "sim/layouts/known_times.h"
#include "sim/layouts/rank_states.h"
#include "sim/network/adapters.h"
#include "sim/servers/aggregation.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

/// Whether a collective's parameters say which operation it is, and this is one of them.
bool knows(const Params& params, std::string_view operation) {
  return std::any_of(params.begin(), params.end(), [&](const Param& p) {
    return p.key == "operation" &&
           std::find(p.words.begin(), p.words.end(), operation) != p.words.end();
  });
}

/// Where the collective says which operation it is; else the generic one of that name.
std::shared_ptr<const Collective> operation(const Config& aggregation, const std::string& type,
                                            const char* name, const Cluster& cluster) {
  if (!knows(Collectives::instance().items().at(type).params, name))
    return Collectives::instance().make_default(name, cluster);
  auto document = std::make_shared<Document>(
      Document{aggregation.file(), Json{{"collective", Json::object()}}});
  Json& stated = document->root["collective"];
  stated = aggregation.node().value("collective", Json{{"type", type}});
  if (stated.is_string()) stated = Json{{"type", stated}};
  stated["operation"] = name;
  static const Params params{
      {.key = "collective", .kind = Kind::kObject, .choice = Collective::kNoun}};
  return read_collective(Config(document, params), cluster);
}

}  // namespace

Cluster cluster_of(const Config& strategy, const Cluster& whole,
                   std::span<const std::int32_t> ranks, std::int64_t on_an_adapter) {
  std::map<std::int64_t, std::int64_t> members;
  for (const std::int32_t rank : ranks)
    ++members[rank / whole.gpus_per_node];
  const std::int64_t each = members.begin()->second;
  for (const auto& [node, count] : members) {
    if (count == each) continue;
    strategy.fail("layout",
                  fmt::format("a group has {} ranks on node {} and {} on node {}; "
                              "expected degrees that divide nodes of {} GPUs evenly",
                              each, members.begin()->first, count, node, whole.gpus_per_node));
  }
  Cluster part = whole;
  part.nodes = static_cast<std::int64_t>(members.size());
  part.gpus_per_node = each;
  if (part.nodes == 1) return part;
  if (part.gpus) {
    std::set<std::int64_t> own;
    for (const std::int32_t rank : ranks.first(static_cast<std::size_t>(each)))
      own.insert(adapter_of(whole, rank % whole.gpus_per_node));
    part.gpus->nics = std::ssize(own);
  }
  const double share = 1 / static_cast<double>(on_an_adapter);
  part.network.bandwidth.bytes_per_second *= share;
  if (part.gpu_to_gpu) part.gpu_to_gpu->bandwidth.bytes_per_second *= share;
  return part;
}

GroupCosts group_costs(const Config& strategy, const Backend& backend, const Cluster& whole,
                       std::span<const std::int32_t> ranks, std::int64_t on_an_adapter) {
  const Cluster cluster = backend.seen(cluster_of(strategy, whole, ranks, on_an_adapter));
  const Config aggregation = Aggregations::instance().chosen(strategy, "aggregation");
  const std::string type = Catalogue::type_of(aggregation, Collective::kNoun);
  GroupCosts costs;
  costs.all_reduce = backend.all_reduce(read_collective(aggregation, cluster), cluster);
  costs.reduce_scatter = operation(aggregation, type, "reduce-scatter", cluster);
  costs.all_gather = operation(aggregation, type, "all-gather", cluster);
  costs.all_to_all = operation(aggregation, type, "all-to-all", cluster);
  for (auto* cost :
       {&costs.all_reduce, &costs.reduce_scatter, &costs.all_gather, &costs.all_to_all})
    *cost = std::make_shared<KnownTimes>(std::move(*cost));
  const Link& link = cluster.bottleneck();
  costs.send =
      std::make_shared<LinearCollective>(LinearCost{link.latency, inverse(link.bandwidth)});
  return costs;
}

namespace {

/// Of a group's ranks, on each node: from the first node on.
std::vector<std::int64_t> spread_of(const Cluster& whole, std::span<const std::int32_t> ranks) {
  std::vector<std::int64_t> members;
  std::int64_t node = -1;
  for (const std::int32_t rank : ranks) {  // in ascending order
    if (rank / whole.gpus_per_node != node) members.push_back(0);
    node = rank / whole.gpus_per_node;
    ++members.back();
  }
  return members;
}

/// Whether every dimension fills whole nodes, or whole parts of them, and shard groups do, so that
/// all groups of a kind lie on nodes alike.
bool fills_nodes(const LayoutPlan& plan) {
  const std::int64_t gpus = plan.cluster->gpus_per_node;
  const auto fills = [gpus](std::int64_t ranks) { return gpus % ranks == 0 || ranks % gpus == 0; };
  const auto stride = [&plan](Dimension d) {
    Coordinates next{};
    next[static_cast<std::size_t>(d)] = 1;
    return std::int64_t{plan.layout.rank(next)};
  };
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const auto d = static_cast<Dimension>(i);
    if (!fills(stride(d)) || !fills(stride(d) * plan.layout.degree(d))) return false;
  }
  // Ranks that share parameters, in ascending order, are cut into shard groups.
  Dimension inner = Dimension::kContext;
  Dimension outer = Dimension::kData;
  if (stride(outer) < stride(inner)) std::swap(inner, outer);
  const std::int64_t shards = plan.shard_group();
  const std::int64_t first = plan.layout.degree(inner);
  if (shards <= first) return first % shards == 0 && fills(stride(inner) * shards);
  return shards % first == 0 && fills(stride(outer) * (shards / first));
}

/// The first rank of a group that lies on nodes unlike that of rank 0.
std::optional<std::int32_t> find_unlike(const LayoutPlan& plan, GroupKind kind) {
  const Cluster& whole = *plan.cluster;
  const auto of_first = spread_of(whole, plan.group(kind, 0));
  for (const std::int32_t rank : plan.group(GroupKind::kAll, 0)) {
    const std::vector<std::int32_t> ranks = plan.group(kind, rank);
    const bool is_known = ranks.front() != rank;
    if (is_known || (kind == GroupKind::kEnds && plan.place(rank) != 0)) continue;
    if (spread_of(whole, ranks) != of_first) return rank;
  }
  return std::nullopt;
}

/// Groups of a kind move at once, and rank 0's stand for all.
void expect_alike(const LayoutPlan& plan, GroupKind kind, const Config& strategy) {
  const std::optional<std::int32_t> unlike = find_unlike(plan, kind);
  if (!unlike) return;
  const auto spread = [&](std::int32_t rank) {
    return fmt::format("{}", fmt::join(spread_of(*plan.cluster, plan.group(kind, rank)), " + "));
  };
  strategy.fail(
      "layout",
      fmt::format("the {} group of rank {} has {} ranks on its nodes and that of rank "
                  "0 has {}; expected degrees that divide nodes of {} GPUs evenly",
                  name_of(kind), *unlike, spread(*unlike), spread(0), plan.cluster->gpus_per_node));
}

/// Whether groups of a kind can be placed: all as rank 0's, with as many ranks on each node.
bool lie_evenly(const LayoutPlan& plan, GroupKind kind) {
  const auto of_first = spread_of(*plan.cluster, plan.group(kind, 0));
  return std::ranges::count(of_first, of_first.front()) == std::ssize(of_first) &&
         !find_unlike(plan, kind);
}

/// What the collectives of a group depend on beside the cluster: how many of its ranks are on each
/// of how many nodes, with which adapters, how many groups share one, and which share of these its
/// software reaches.
using GroupPlaces = std::pair<std::array<std::int64_t, 4>, double>;
using KnownGroups = std::map<GroupPlaces, GroupCosts>;

/// Groups of a kind among the ranks of a place of the pipeline are alike and move at once: those of
/// rank 0 stand for all. Groups of two kinds that are placed alike have the same collectives.
GroupCosts costs_of(const LayoutPlan& plan, GroupKind kind, const Config& strategy,
                    const Backend& backend, KnownGroups& known) {
  Cluster whole = *plan.cluster;
  const double share = kind == GroupKind::kShards ? plan.states->share_of_adapters() : 1;
  whole.network.bandwidth.bytes_per_second *= share;
  if (whole.gpu_to_gpu) whole.gpu_to_gpu->bandwidth.bytes_per_second *= share;
  const std::int64_t on_an_adapter =
      most_on_an_adapter(whole, 0, [&](std::int32_t rank) -> std::int32_t {
        return plan.place(rank) == 0 ? plan.group(kind, rank).front() : -1;
      });
  const std::vector<std::int32_t> ranks = plan.group(kind, 0);
  const Cluster part = cluster_of(strategy, whole, ranks, on_an_adapter);
  const GroupPlaces places{
      {part.nodes, part.gpus_per_node, part.gpus ? part.gpus->nics : 0, on_an_adapter}, share};
  const auto [at, is_new] = known.try_emplace(places);
  if (!is_new) return at->second;
  at->second = group_costs(strategy, backend, whole, ranks, on_an_adapter);
  if (whole.intra_node_beside_kernels > 1) {
    at->second.beside_kernels = std::make_shared<GroupCosts>(
        group_costs(strategy, backend, whole.beside_kernels(), ranks, on_an_adapter));
  }
  return at->second;
}

/// Shard groups of one replica alone have as many ranks as those of the whole plan. Where its ranks
/// do not divide into such groups, they have the largest smaller number that lies evenly on nodes.
/// With one rank each, gradients are summed up over the context group, which lies evenly.
GroupsOfReplica groups_of_replica(const LayoutPlan& plan, const Config& strategy,
                                  const Backend& backend, KnownGroups& known) {
  LayoutPlan alone{.layout = plan.layout.without(Dimension::kData), .states = plan.states};
  alone.cluster = plan.cluster;
  const auto divides = [&alone] {
    return alone.sharers() % alone.shards == 0 &&
           (fills_nodes(alone) ||
            (lie_evenly(alone, GroupKind::kShards) && lie_evenly(alone, GroupKind::kReplicas)));
  };
  alone.shards = std::min(plan.shard_group(), alone.sharers());
  while (alone.shards > 1 && !divides())
    --alone.shards;
  return {.shard_group = alone.shards,
          .shards = costs_of(alone, GroupKind::kShards, strategy, backend, known),
          .replicas = costs_of(alone, GroupKind::kReplicas, strategy, backend, known)};
}

/// Among all ranks of a place, and among those of a replica.
void place_maxima(LayoutPlan& plan, const Config& strategy, const Backend& backend) {
  if (plan.work.exchanged.maxima.count == 0) return;
  using D = Dimension;
  const auto among = [&](std::span<const Dimension> in) -> std::shared_ptr<const Collective> {
    const std::vector<std::int32_t> ranks = plan.layout.group(0, in);
    if (ranks.size() == 1) return nullptr;
    return group_costs(strategy, backend, *plan.cluster, ranks, 1).all_reduce;
  };
  plan.maxima_of_replica = among(std::array{D::kTensor, D::kContext});
  plan.maxima = plan.layout.data() == 1 ? plan.maxima_of_replica
                                        : among(std::array{D::kTensor, D::kContext, D::kData});
}

/// To the next place of the pipeline, within nodes only where all of its ranks find their neighbour
/// there. Each rank of a place has its own to send.
Hop hop_from(const LayoutPlan& plan, std::int32_t place, const Backend& backend) {
  const Cluster& whole = *plan.cluster;
  const std::int64_t gpus = whole.gpus_per_node;
  Coordinates at{};
  std::int32_t& in_pipeline = at[static_cast<std::size_t>(Dimension::kPipeline)];
  in_pipeline = (place + 1) % plan.layout.pipeline();
  const std::int32_t away = plan.layout.rank(at);
  in_pipeline = place;
  const std::int32_t first = plan.layout.rank(at);
  Hop hop;
  for (const std::int32_t rank : plan.layout.group(
           first, std::array{Dimension::kTensor, Dimension::kContext, Dimension::kData}))
    hop.between_nodes |= rank / gpus != (rank + away - first) / gpus;
  const Cluster cluster = backend.seen(whole);
  Link link = hop.between_nodes ? cluster.between_nodes() : cluster.intra_node;
  if (hop.between_nodes) {
    for (const std::int32_t end : {first, away}) {
      const std::int32_t there = plan.place(end);
      link.bandwidth.bytes_per_second =
          std::min(link.bandwidth.bytes_per_second,
                   cluster.between_nodes().bandwidth.bytes_per_second /
                       static_cast<double>(most_on_an_adapter(
                           whole, end / gpus, [&](std::int32_t rank) -> std::int32_t {
                             return plan.place(rank) == there ? rank : -1;
                           })));
    }
  }
  const auto send = [](const Link& by) {
    return std::make_shared<LinearCollective>(LinearCost{by.latency, inverse(by.bandwidth)});
  };
  hop.send = send(link);
  if (!hop.between_nodes && whole.intra_node_beside_kernels > 1)
    hop.beside_kernels = send(backend.seen(whole.beside_kernels()).intra_node);
  return hop;
}

}  // namespace

namespace {

/// What of a plan makes such a collective: "the states", or a kind of group; "": nothing.
std::string who_calls(const LayoutPlan& plan,
                      std::shared_ptr<const Collective> GroupCosts::*operation) {
  const bool gathers = operation == &GroupCosts::all_gather;
  if (plan.shard_group() > 1) {
    if (!gathers && plan.states->sum() == Operation::kReduceScatter) return "the states";
    if (gathers && (plan.states->gathers_updates() || gathering_of(plan))) return "the states";
  }
  if (gathers && plan.gathered_boundary.count > 0) return "tensor ranks behind a boundary";
  for (const StageWork& stage : plan.stages) {
    for (const StageLayer& layer : stage.layers) {
      for (const Legs* legs : {&layer.forward, &layer.backward, &layer.weights}) {
        for (const Leg& leg : *legs) {
          const GroupKind group = leg.exchange.group;
          if (leg.exchange.collective == (plan.costs(group).*operation).get() &&
              plan.group(group, 0).size() > 1)
            return fmt::format("{} ranks", name_of(group));
        }
      }
    }
  }
  return "";
}

}  // namespace

void expect_own_operations(const LayoutPlan& plan, const Config& strategy) {
  const Config aggregation = Aggregations::instance().chosen(strategy, "aggregation");
  const std::string type = Catalogue::type_of(aggregation, Collective::kNoun);
  const auto& items = Collectives::instance().items();
  for (const auto& [name, operation] : {std::pair("reduce-scatter", &GroupCosts::reduce_scatter),
                                        std::pair("all-gather", &GroupCosts::all_gather)}) {
    if (knows(items.at(type).params, name)) continue;
    const std::string who = who_calls(plan, operation);
    if (who.empty()) continue;
    std::vector<std::string> known;
    for (const auto& [other, item] : items) {
      if (knows(item.params, name)) known.push_back(other);
    }
    aggregation.fail("collective",
                     fmt::format("\"{}\" has no {} of its own, which {} of this layout "
                                 "need; expected one that has: {}",
                                 type, name, who, fmt::join(known, ", ")));
  }
}

void place_groups(LayoutPlan& plan, const Config& strategy, const Backend& backend,
                  std::shared_ptr<const Cluster> cluster) {
  plan.cluster = std::move(cluster);
  const bool are_alike = fills_nodes(plan);
  KnownGroups known;
  for (const GroupKind kind : {GroupKind::kTensor, GroupKind::kContext, GroupKind::kShards,
                               GroupKind::kReplicas, GroupKind::kEnds}) {
    plan.groups[static_cast<std::size_t>(kind)] = costs_of(plan, kind, strategy, backend, known);
    if (!are_alike) expect_alike(plan, kind, strategy);
  }
  if (plan.layout.data() > 1 && plan.layout.context() > 1)
    plan.of_replica = groups_of_replica(plan, strategy, backend, known);
  place_maxima(plan, strategy, backend);
  plan.hops.clear();
  for (std::int32_t place = 0; place < plan.layout.pipeline(); ++place)
    plan.hops.push_back(hop_from(plan, place, backend));
}

}  // namespace steptime
