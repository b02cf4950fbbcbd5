#include "sim/layouts/group_collectives.h"

#include "sim/layouts/adapters.h"
#include "sim/servers/aggregation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

/// Where the collective says which operation it is; else the generic one of that name.
std::shared_ptr<const Collective> operation(const Config& aggregation, const std::string& type,
                                            const char* name, const Cluster& cluster) {
  const auto& item = Collectives::instance().items().at(type);
  const bool knows = std::any_of(item.params.begin(), item.params.end(), [&](const Param& p) {
    return p.key == "operation" && std::find(p.words.begin(), p.words.end(), name) != p.words.end();
  });
  if (!knows) return Collectives::instance().make_default(name, cluster);
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
  costs.all_reduce = backend.all_reduce(read_collective(aggregation, cluster));
  costs.reduce_scatter = operation(aggregation, type, "reduce-scatter", cluster);
  costs.all_gather = operation(aggregation, type, "all-gather", cluster);
  costs.all_to_all = operation(aggregation, type, "all-to-all", cluster);
  const Link& link = cluster.bottleneck();
  costs.send =
      std::make_shared<LinearCollective>(LinearCost{link.latency, inverse(link.bandwidth)});
  return costs;
}

namespace {

/// Groups of a kind among the ranks of a place of the pipeline are alike and move at once: those of
/// rank 0 stand for all.
GroupCosts costs_of(const LayoutPlan& plan, GroupKind kind, const Config& strategy,
                    const Backend& backend) {
  Cluster whole = *plan.cluster;
  if (kind == GroupKind::kShards) {
    const double share = plan.states->share_of_adapters();
    whole.network.bandwidth.bytes_per_second *= share;
    if (whole.gpu_to_gpu) whole.gpu_to_gpu->bandwidth.bytes_per_second *= share;
  }
  const std::int64_t on_an_adapter =
      most_on_an_adapter(whole, 0, [&](std::int32_t rank) -> std::int32_t {
        return plan.place(rank) == 0 ? plan.group(kind, rank).front() : -1;
      });
  return group_costs(strategy, backend, whole, plan.group(kind, 0), on_an_adapter);
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
  hop.send = std::make_shared<LinearCollective>(LinearCost{link.latency, inverse(link.bandwidth)});
  return hop;
}

}  // namespace

void place_groups(LayoutPlan& plan, const Config& strategy, const Backend& backend,
                  std::shared_ptr<const Cluster> cluster) {
  plan.cluster = std::move(cluster);
  for (const GroupKind kind : {GroupKind::kTensor, GroupKind::kContext, GroupKind::kShards,
                               GroupKind::kReplicas, GroupKind::kEnds})
    plan.groups[static_cast<std::size_t>(kind)] = costs_of(plan, kind, strategy, backend);
  plan.hops.clear();
  for (std::int32_t place = 0; place < plan.layout.pipeline(); ++place)
    plan.hops.push_back(hop_from(plan, place, backend));
}

}  // namespace steptime
