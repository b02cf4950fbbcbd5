// Parameter servers alone: every worker is a client of its own, with nothing to reduce inside.
#include "sim/servers/aggregation.h"

#include <memory>

namespace steptime {
namespace {

std::unique_ptr<Aggregation> make(const Config& c, const Cluster& cluster) {
  ServerGroup servers = server_keys().read(c);
  if (servers.count == 0) c.fail("servers", "expected at least 1; all-reduce needs none");
  const LinearCost cost = server_cost(cluster, cluster.workers(), servers);
  return std::make_unique<Aggregation>(
      Aggregation{.clients = cluster.workers(),
                  .inside = std::make_shared<LinearCollective>(LinearCost{}),
                  .servers = servers,
                  .whole = std::make_shared<LinearCollective>(cost)});
}

const bool kRegistered = Aggregations::instance().add(
    "parameter-server", "every worker pushes to and pulls from servers", server_keys().params(),
    make);

}  // namespace
}  // namespace steptime
