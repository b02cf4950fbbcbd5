// Binary tree: a reduction to the root, then a broadcast from it. With equal links:
//
//   a = 2 alpha log2 N      b = (2 beta + gamma) log2 N
//
// Scope: no other traffic; for N that is no power of two, the depth of the tree rounded up. Rounds
// between ranks less than a node apart stay in the nodes, and in later ones a NIC has one message
// at most. Exact for 2^i GPUs per node, alike; else an estimate (netmodels/rounds.h), which on
// plain clusters of up to 8 nodes of up to 8 GPUs is within 0.1 % of the messages. Parameters:
// none; alpha, beta and gamma are those of the cluster. Source: 004 Table II.
#include "netmodels/programs.h"
#include "netmodels/rounds.h"

#include <memory>

namespace steptime {
namespace {

constexpr ErrorBound kEstimate{-.001, .001};

const bool kRegistered = Collectives::instance().add(
    "binary-tree", "reduce to a root and broadcast from it along a binary tree", {},
    [](const Config&, const Cluster& c) {
      const RoundLinks links(c);
      RoundSum sum(c.reduction, kEstimate);
      sum.add_binomial(links, true);
      sum.add_binomial(links, false);
      const auto n = static_cast<Rank>(c.workers());
      return std::make_unique<CollectiveOfRounds>(
          sum, links, [n](Slice whole) { return one(binomial_all_reduce(n, whole)); });
    });

}  // namespace
}  // namespace steptime
