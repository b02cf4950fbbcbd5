// Reduce-scatter: each rank ends with the sum of one part of M / N bytes, around a ring.
//
//   a = (N - 1) alpha      b = (N - 1) / N (beta + gamma)
//
// Scope: no other traffic; the slowest link of the ring sets its pace, as in netmodels/ring.cpp.
// Not an all-reduce: for predictions of the operation by itself. Parameters: none; alpha, beta and
// gamma are those of the cluster. Source: half of the ring of 004 Table II.
#include "netmodels/programs.h"
#include "netmodels/rounds.h"

#include <memory>

namespace steptime {
namespace {

const bool kRegistered = Collectives::instance().add(
    "reduce-scatter", "a part of the sum on each rank, around a ring", {},
    [](const Config&, const Cluster& c) {
      const RoundLinks links(c);
      RoundSum sum(c.reduction);
      const auto n = static_cast<Rank>(c.workers());
      sum.add_ring(n - 1, links.ring(), 1 / static_cast<double>(n), 1 / static_cast<double>(n));
      return std::make_unique<CollectiveOfRounds>(
          sum, links, [n](Slice whole) { return one(ring_reduce_scatter(n, whole)); },
          Operation::kReduceScatter);
    });

}  // namespace
}  // namespace steptime
