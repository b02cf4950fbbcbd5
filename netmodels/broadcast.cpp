// Broadcast: the data of rank 0 to all, along a binomial tree.
//
//   a = alpha log2 N      b = beta log2 N
//
// Scope: no contention. For N that is no power of two, the number of rounds rounded up. Not an
// all-reduce: for predictions of the operation by itself. Parameters: none; alpha, beta and gamma
// are those of the cluster. Source: half of the binary tree of 004 Table II.
#include "netmodels/programs.h"
#include "sim/collective.h"

#include <bit>
#include <memory>

namespace steptime {
namespace {

LinearCost cost(const Cluster& cluster) {
  const double alpha = to_seconds(cluster.bottleneck().latency);
  const double beta = inverse(cluster.bottleneck().bandwidth).seconds_per_byte;
  const auto rounds =
      static_cast<double>(std::bit_width(static_cast<std::uint64_t>(cluster.workers() - 1)));
  return {from_seconds(rounds * alpha), {rounds * beta}};
}

const bool kRegistered = Collectives::instance().add(
    "broadcast", "the data of rank 0 to all, along a binomial tree", {},
    [](const Config&, const Cluster& c) {
      const auto n = static_cast<Rank>(c.workers());
      return std::make_unique<LinearCollective>(
          cost(c), [n](Slice whole) { return binomial_broadcast(n, whole); },
          Operation::kBroadcast);
    });

}  // namespace
}  // namespace steptime
