// Recursive halving and doubling: a reduce-scatter by halving, then an all-gather by doubling. With
// N a power of two and equal links:
//
//   a = 2 alpha log2 N      b = 2 beta - (2 beta + gamma) / N + gamma
//
// Other N fold: with 2^k the largest power of two in N, N - 2^k ranks first hand all they have to
// a neighbour and get the result from it, 2 (alpha + M beta) + M gamma, around the rounds of 2^k.
// Scope: no other traffic. With several GPUs per node, rounds between ranks at least a node apart
// have all GPUs of a node on its NICs at once. Exact for 2^i GPUs per node, alike, on 2^j nodes,
// and for one GPU per node; else an estimate (netmodels/rounds.h), against messages on up to 8
// nodes of up to 8 GPUs from 0 to +15 % (largest at medium sizes), on 96 to 171 nodes from -4 to +9
// %. Parameters: none; alpha, beta and gamma are those of the cluster. Source: 004 Table II; the
// folding of MPICH.
#include "netmodels/programs.h"
#include "netmodels/rounds.h"

#include <memory>

namespace steptime {
namespace {

constexpr ErrorBound kEstimate{-.01, .15};

const bool kRegistered = Collectives::instance().add(
    "halving-doubling", "reduce-scatter by halving, all-gather by doubling", {},
    [](const Config&, const Cluster& c) {
      const RoundLinks links(c);
      RoundSum sum(c.reduction, kEstimate);
      sum.add_doubling(links, true);
      const auto n = static_cast<Rank>(c.workers());
      return std::make_unique<CollectiveOfRounds>(
          sum, links, [n](Slice whole) { return one(halving_doubling(n, whole)); });
    });

}  // namespace
}  // namespace steptime
