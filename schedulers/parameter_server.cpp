// Parameter servers alone: every worker is a client of its own.
#include "sim/aggregation.h"

#include <memory>

namespace steptime {
namespace {

/// Among the one worker of a client there is nothing to reduce.
class NoCollective final : public LinearCollective {
 public:
  NoCollective() : LinearCollective(LinearCost{}) {}
};

std::unique_ptr<Aggregation> make(const Config& c, const Cluster& cluster) {
  ServerGroup servers = read_servers(c);
  if (servers.count == 0) c.fail("servers", "expected at least 1; all-reduce needs none");
  return std::make_unique<Aggregation>(
      Aggregation{cluster.workers(), std::make_shared<NoCollective>(), servers});
}

const bool kRegistered = Aggregations::instance().add(
    "parameter-server", "every worker pushes to and pulls from servers", server_params(), make);

}  // namespace
}  // namespace steptime
