#include "sim/servers/machine_with_servers.h"

namespace steptime {
namespace {

using Placement = ServerGroup::Placement;

const ServerGroup& last(const Aggregation& aggregation) {
  return aggregation.beyond ? aggregation.beyond->servers : aggregation.servers;
}

bool have_own_nodes(const ServerGroup& servers) {
  return servers.count > 0 && servers.placement == Placement::kOwnNodes;
}

}  // namespace

bool has_hosts(const Aggregation& aggregation) {
  const ServerGroup& servers = last(aggregation);
  return aggregation.beyond || (servers.count > 0 && servers.placement == Placement::kWithWorkers);
}

Machine machine_with_servers(const Cluster& cluster, const Aggregation& aggregation) {
  const ServerGroup& servers = last(aggregation);
  Guests guests{.hosts = has_hosts(aggregation)};
  if (have_own_nodes(servers)) guests.nodes = servers.count;
  if (servers.count > 0 && !aggregation.beyond) {
    const std::int64_t sharing = servers.workers_per_host_link;
    guests.host_links = (cluster.gpus_per_node + sharing - 1) / sharing;
  }
  return Machine(cluster, guests);
}

Endpoint host_end(const Cluster& cluster, std::int64_t node) {
  return static_cast<Endpoint>(cluster.workers() + node);
}

Endpoint server_end(const Cluster& cluster, const Aggregation& aggregation, std::int64_t server) {
  if (!have_own_nodes(last(aggregation))) return host_end(cluster, server % cluster.nodes);
  const std::int64_t hosts = has_hosts(aggregation) ? cluster.nodes : 0;
  return static_cast<Endpoint>(cluster.workers() + hosts + server);
}

}  // namespace steptime
