#include "sim/servers/machine_with_servers.h"

namespace steptime {

bool has_hosts(const Aggregation& aggregation) {
  return aggregation.beyond ||
         (aggregation.servers.count > 0 && aggregation.servers.placement->is_on_hosts());
}

Machine machine_with_servers(const Cluster& cluster, const Aggregation& aggregation) {
  const ServerGroup& servers = aggregation.last_servers();
  Guests guests{.nodes = servers.placement->more_nodes(servers.count),
                .hosts = has_hosts(aggregation)};
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
  const std::int64_t node = aggregation.last_servers().placement->node(server, cluster.nodes);
  if (node < cluster.nodes) return host_end(cluster, node);
  const std::int64_t hosts = has_hosts(aggregation) ? cluster.nodes : 0;
  return static_cast<Endpoint>(cluster.workers() + hosts + node - cluster.nodes);
}

}  // namespace steptime
