// MPI clients that talk to parameter servers: the workers of a client all-reduce, rank 0 pushes the
// sum and pulls, and broadcasts what it got. No servers, which takes a single client, is pure MPI.
// Source: 001 sections 4.1 and 4.2.
#include "sim/aggregation.h"

#include <memory>

#include <fmt/format.h>

namespace steptime {
namespace {

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
    c.fail("servers", fmt::format("{} clients need servers to meet at; 0 servers take 1 client",
                                  clients));
  }
  const Cluster inside = client_cluster(cluster, clients, c);
  return std::make_unique<Aggregation>(
      Aggregation{clients, Collectives::instance().make(c, "collective", inside), servers});
}

const bool kRegistered = Aggregations::instance().add(
    "hybrid", "MPI groups, each a client of parameter servers", params(), make);

}  // namespace
}  // namespace steptime
