// Recursive doubling: in each of log2 N rounds, pairs exchange the whole message and add.
//
//   a = alpha log2 N      b = (beta + gamma) log2 N
//
// Scope: no contention; for N that is no power of two, the number of rounds rounded up.
// Parameters: none; alpha, beta and gamma are those of the cluster.
// Source: 004 Table II.
#include "netmodels/programs.h"
#include "sim/collective.h"

#include <cmath>
#include <memory>

namespace steptime {
namespace {

LinearCost cost(const Cluster& cluster) {
  const auto n = static_cast<double>(cluster.workers());
  const double alpha = to_seconds(cluster.bottleneck().latency);
  const double beta = inverse(cluster.bottleneck().bandwidth).seconds_per_byte;
  const double gamma = cluster.reduction.seconds_per_byte;
  const double log_n = std::ceil(std::log2(n));
  return {from_seconds(alpha * log_n), {(beta + gamma) * log_n}};
}

const bool kRegistered = Collectives::instance().add(
    "recursive-doubling", "log2 N exchanges of the whole message", {},
    [](const Config&, const Cluster& c) {
      const auto n = static_cast<Rank>(c.workers());
      return std::make_unique<LinearCollective>(
          cost(c), [n](Slice whole) { return recursive_doubling(n, whole); });
    });

}  // namespace
}  // namespace steptime
