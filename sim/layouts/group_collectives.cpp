#include "sim/layouts/group_collectives.h"

#include "sim/servers/aggregation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

namespace steptime {
namespace {

std::int64_t adapters(const Cluster& cluster) {
  if (cluster.gpus && cluster.gpus->nics > 0) return cluster.gpus->nics;
  if (cluster.node == nullptr) return 1;
  return std::max<std::int64_t>(1, std::ssize(cluster.node->of_kind(VertexKind::kNic)));
}

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
                   std::span<const std::int32_t> ranks) {
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
  // Groups of a kind are alike and move at once: each has its part of a node's adapters.
  const std::int64_t nics = adapters(whole);
  const std::int64_t groups = std::max<std::int64_t>(1, whole.gpus_per_node / each);
  if (part.gpus) part.gpus->nics = std::max<std::int64_t>(1, nics / groups);
  const double share = std::min(1.0, static_cast<double>(nics) / static_cast<double>(groups));
  part.network.bandwidth.bytes_per_second *= share;
  if (part.gpu_to_gpu) part.gpu_to_gpu->bandwidth.bytes_per_second *= share;
  return part;
}

GroupCosts group_costs(const Config& strategy, const Backend& backend, const Cluster& whole,
                       std::span<const std::int32_t> ranks) {
  const Cluster cluster = backend.seen(cluster_of(strategy, whole, ranks));
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

}  // namespace steptime
