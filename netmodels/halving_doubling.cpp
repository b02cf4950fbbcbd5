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
// nodes of up to 8 GPUs from 0 to +15 % (largest at medium sizes), on 75 to 300 nodes from 0 to +9
// %. Beyond 4096 ranks the farthest first was 0 to +6 % off, and the nearest first, where folding
// leaves some neighbours on different nodes, +2 to +73 %. Parameters: first, whose half is
// exchanged first: that of the farthest rank, or that of the nearest, which takes the same time
// where all links are equal, and less where those inside a node carry most of it; alpha, beta and
// gamma are those of the cluster. Source: 004 Table II; the folding of MPICH, which begins with the
// nearest (src/mpi/coll/allreduce).
#include "netmodels/programs.h"
#include "netmodels/rounds.h"

#include <memory>
#include <string>

namespace steptime {
namespace {

const Params kParams{{.key = "first",
                      .kind = Kind::kText,
                      .help = "partner, with which half of the data is exchanged",
                      .need = Need::kDefault,
                      .fallback = "farthest",
                      .words = {"farthest", "nearest"}}};

constexpr ErrorBound kEstimate{-.01, .15};
constexpr ErrorBound kOfMany{-.04, .09};
constexpr ErrorBound kOfManyNearestFirst{-.01, .8};

const bool kRegistered = Collectives::instance().add(
    "halving-doubling", "reduce-scatter by halving, all-gather by doubling", kParams,
    [](const Config& config, const Cluster& c) {
      const bool nearest_first = config.get<std::string>("first") == "nearest";
      const RoundLinks links(c);
      RoundSum sum(c.reduction, kEstimate, nearest_first ? kOfManyNearestFirst : kOfMany);
      sum.add_halving(links, nearest_first);
      const auto n = static_cast<Rank>(c.workers());
      return std::make_unique<CollectiveOfRounds>(sum, links, [n, nearest_first](Slice whole) {
        return one(halving_doubling(n, whole, nearest_first));
      });
    });

}  // namespace
}  // namespace steptime
