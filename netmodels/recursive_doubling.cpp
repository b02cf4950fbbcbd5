// Recursive doubling: in each of log2 N rounds, pairs exchange the whole message and add. With N a
// power of two and equal links:
//
//   a = alpha log2 N      b = (beta + gamma) log2 N
//
// Other N fold: with 2^k the largest power of two in N, N - 2^k ranks first hand all they have to
// a neighbour and get the result from it, 2 (alpha + M beta) + M gamma, around the k rounds.
// Scope: no other traffic. With several GPUs per node, rounds between ranks at least a node apart
// have all GPUs of a node on its NICs at once. Exact for 2^i GPUs per node, alike, on 2^j nodes,
// and for one GPU per node; else an estimate (netmodels/rounds.h), against messages on up to 8
// nodes of up to 8 GPUs from -2 to +21 % (largest at medium sizes), on 96 to 171 nodes from -4 to
// +9 %. Parameters: none; alpha, beta and gamma are those of the cluster. Source: 004 Table II; the
// folding of MPICH.
#include "netmodels/programs.h"
#include "netmodels/rounds.h"

#include <memory>

namespace steptime {
namespace {

constexpr ErrorBound kEstimate{-.02, .21};

const bool kRegistered = Collectives::instance().add(
    "recursive-doubling", "log2 N exchanges of the whole message", {},
    [](const Config&, const Cluster& c) {
      const RoundLinks links(c);
      RoundSum sum(c.reduction, kEstimate);
      sum.add_doubling(links);
      const auto n = static_cast<Rank>(c.workers());
      return std::make_unique<CollectiveOfRounds>(
          sum, links, [n](Slice whole) { return one(recursive_doubling(n, whole)); });
    });

}  // namespace
}  // namespace steptime
