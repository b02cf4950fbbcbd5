// MPI clients that talk to parameter servers: the workers of a client all-reduce, rank 0 pushes the
// sum and pulls, and broadcasts what it got. No servers, which takes a single client, is pure MPI.
// The broadcast is a pipelined chain, or with a `spread` another collective; then `collective` need
// not leave everyone with the sum: BytePS reduces and scatters inside a node, and gathers after the
// pull.
// Source: 001 sections 4.1 and 4.2; bytedance/byteps docs/architecture.md.
#include "sim/servers/aggregation.h"

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

Params hybrid_params() {
  Params all = server_keys().params();
  all.insert(
      all.begin(),
      {{.key = "clients",
        .kind = Kind::kInteger,
        .help = "equal groups of workers, each of which talks to the servers through its rank 0",
        .range = {.low = 1, .high = 1e7}},
       {.key = "collective",
        .kind = Kind::kObject,
        .help = "the all-reduce inside a client",
        .need = Need::kDefault,
        .fallback = Json{{"type", "ring"}},
        .choice = Collective::kNoun},
       {.key = "spread",
        .kind = Kind::kObject,
        .help = "the collective that takes what was pulled to the rest of a client; where "
                "`collective` is a `reduce-scatter`, an `all-gather`; default: a pipelined chain",
        .need = Need::kOptional,
        .choice = Collective::kNoun}});
  return all;
}

/// Together they must leave every worker with what was pulled: rank 0 pulls the whole, or each rank
/// the part that it has added up.
void check_spread(const Config& c, const Collective& inside, const Collective& spread) {
  const bool scatters = inside.operation() == Operation::kReduceScatter;
  if (!scatters && inside.operation() != Operation::kAllReduce &&
      inside.operation() != Operation::kReduce) {
    c.fail("collective", "does not add up the gradients of a client");
  }
  const Operation wanted = scatters ? Operation::kAllGather : Operation::kBroadcast;
  if (spread.operation() == wanted || spread.operation() == Operation::kAllReduce) return;
  c.fail("spread", scatters ? "does not gather what was reduced and scattered"
                            : "does not bring what rank 0 pulled to every worker");
}

std::unique_ptr<Aggregation> make_hybrid(const Config& c, const Cluster& cluster) {
  const auto clients = c.get<std::int64_t>("clients");
  ServerGroup servers = server_keys().read(c);
  if (servers.count == 0 && clients != 1) {
    c.fail("servers",
           fmt::format("{} clients need servers to meet at; 0 servers take 1 client", clients));
  }
  const Cluster client = client_cluster(cluster, clients, c);
  const bool spreads = c.has("spread");
  if (spreads && servers.count == 0) c.fail("spread", "without servers nothing is pulled");
  const std::shared_ptr<const Collective> inside = read_collective(c, client);
  auto made = std::make_unique<Aggregation>(
      Aggregation{.clients = clients, .inside = inside, .servers = servers});
  made->gathers = spreads;
  if (servers.count > 0) {
    made->spread = spreads ? Collectives::instance().make(c, "spread", client)
                           : Collectives::instance().make_default("chain-broadcast", client);
    if (spreads) check_spread(c, *inside, *made->spread);
    made->whole = std::make_shared<Both>(inside, server_cost(cluster, clients, servers));
  }
  return made;
}

const bool kRegistered = Aggregations::instance().add(
    "hybrid", "MPI groups, each a client of parameter servers", hybrid_params(), make_hybrid);

}  // namespace
}  // namespace steptime
