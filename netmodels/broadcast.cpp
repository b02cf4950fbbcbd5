// Broadcast: the data of rank 0 to all, along a binomial tree. With equal links:
//
//   a = alpha log2 N      b = beta log2 N
//
// Scope: no other traffic; shared NICs and estimates as for netmodels/binary_tree.cpp. For N that
// is no power of two, the number of rounds rounded up. Not an all-reduce: for predictions of the
// operation by itself. Parameters: none; alpha, beta and gamma are those of the cluster. Source:
// half of the binary tree of 004 Table II.
#include "netmodels/programs.h"
#include "netmodels/rounds.h"

#include <memory>

namespace steptime {
namespace {

constexpr ErrorBound kEstimate{-.001, .001};

const bool kRegistered = Collectives::instance().add(
    "broadcast", "the data of rank 0 to all, along a binomial tree", {},
    [](const Config&, const Cluster& c) {
      const RoundLinks links(c);
      RoundSum sum(c.reduction, kEstimate);
      sum.add_binomial(links, false);
      const auto n = static_cast<Rank>(c.workers());
      return std::make_unique<CollectiveOfRounds>(
          sum, links, [n](Slice whole) { return one(binomial_broadcast(n, whole)); },
          Operation::kBroadcast);
    });

}  // namespace
}  // namespace steptime
