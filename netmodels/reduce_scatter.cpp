// Reduce-scatter: each rank ends with the sum of one part of M / N bytes, around a ring.
//
//   a = (N - 1) alpha      b = (N - 1) / N (beta + gamma)
//
// Scope: no contention. Not an all-reduce: for predictions of the operation by itself.
// Parameters: none; alpha, beta and gamma are those of the cluster.
// Source: half of the ring of 004 Table II.
#include "netmodels/programs.h"
#include "sim/collective.h"

#include <memory>

namespace steptime {
namespace {

LinearCost cost(const Cluster& cluster) {
  const double alpha = to_seconds(cluster.bottleneck().latency);
  const double beta = inverse(cluster.bottleneck().bandwidth).seconds_per_byte;
  const double gamma = cluster.reduction.seconds_per_byte;
  const auto n = static_cast<double>(cluster.workers());
  return {from_seconds((n - 1) * alpha), {(n - 1) / n * (beta + gamma)}};
}

const bool kRegistered = Collectives::instance().add(
    "reduce-scatter", "a part of the sum on each rank, around a ring", {},
    [](const Config&, const Cluster& c) {
      const auto n = static_cast<Rank>(c.workers());
      return std::make_unique<LinearCollective>(
          cost(c), [n](Slice whole) { return ring_reduce_scatter(n, whole); },
          Operation::kReduceScatter);
    });

}  // namespace
}  // namespace steptime
