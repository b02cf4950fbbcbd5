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

Endpoint host_end(const Cluster& cluster, const Aggregation& aggregation, std::int64_t node) {
  const std::int64_t without = node < cluster.nodes || has_hosts(aggregation) ? 0 : cluster.nodes;
  return static_cast<Endpoint>(cluster.workers() + node - without);
}

Endpoint server_end(const Cluster& cluster, const Aggregation& aggregation, std::int64_t server) {
  return host_end(cluster, aggregation,
                  aggregation.last_servers().placement->node(server, cluster.nodes));
}

}  // namespace steptime
