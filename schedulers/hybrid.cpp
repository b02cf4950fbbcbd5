// MPI clients that talk to parameter servers: the workers of a client all-reduce, rank 0 pushes the
// sum and pulls, and broadcasts what it got. No servers, which takes a single client, is pure MPI.
// The broadcast is a pipelined tree, ceil(log2 p) alpha + M beta, at analytic fidelity, and a
// pipelined chain at message fidelity.
// Source: 001 sections 4.1 and 4.2.
#include "sim/aggregation.h"

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

/// The all-reduce inside a client, then the servers.
class Both final : public Collective {
 public:
  Both(std::shared_ptr<const Collective> inside, LinearCost servers)
      : inside_(std::move(inside)), servers_(servers) {}
  Duration time(Bytes m) const override { return inside_->time(m) + servers_.time(m); }
  Duration startup() const override { return inside_->startup() + servers_.a; }
  std::string outside_domain(Bytes m) const override { return inside_->outside_domain(m); }

 private:
  std::shared_ptr<const Collective> inside_;
  LinearCost servers_;
};

Params params() {
  Params all = server_params();
  all.insert(all.begin(),
             {{.key = "clients", .kind = Kind::kInteger, .range = {.low = 1, .high = 1e7}},
              {.key = "collective",
               .kind = Kind::kObject,
               .help = "the all-reduce inside a client",
               .need = Need::kDefault,
               .fallback = Json{{"type", "ring"}},
               .choice = Collective::kNoun}});
  return all;
}

std::unique_ptr<Aggregation> make(const Config& c, const Cluster& cluster) {
  const auto clients = c.get<std::int64_t>("clients");
  ServerGroup servers = read_servers(c);
  if (servers.count == 0 && clients != 1) {
    c.fail("servers",
           fmt::format("{} clients need servers to meet at; 0 servers take 1 client", clients));
  }
  const Cluster client = client_cluster(cluster, clients, c);
  const std::shared_ptr<const Collective> inside = read_collective(c, client);
  auto made = std::make_unique<Aggregation>(Aggregation{clients, inside, servers});
  if (servers.count > 0) {
    made->spread = named_collective("chain-broadcast", client);
    made->whole = std::make_shared<Both>(inside, server_cost(cluster, clients, servers));
  }
  return made;
}

const bool kRegistered = Aggregations::instance().add(
    "hybrid", "MPI groups, each a client of parameter servers", params(), make);

}  // namespace
}  // namespace steptime
