// The machine of a run with parameter servers, played message by message: the cluster's, with
// endpoints for servers and for the hosts of nodes. Workers come first, then hosts, if there are
// any, then servers on nodes of their own; a server beside workers is the host of their node.
#pragma once
#include "sim/network/machine.h"
#include "sim/servers/aggregation.h"

#include <cstdint>

namespace steptime {

/// Throws InputError.
Machine machine_with_servers(const Cluster& cluster, const Aggregation& aggregation);
/// Whether nodes have an endpoint for their host.
bool has_hosts(const Aggregation& aggregation);
/// Of a node's host, where there are such, or of the servers on a node of their own, whose number
/// lies behind the cluster's; of a server, those beyond the nodes if there are such.
Endpoint host_end(const Cluster& cluster, const Aggregation& aggregation, std::int64_t node);
Endpoint server_end(const Cluster& cluster, const Aggregation& aggregation, std::int64_t server);

}  // namespace steptime
