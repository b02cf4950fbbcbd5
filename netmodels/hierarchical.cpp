// Hierarchical: each node reduces to its first GPU along a binomial tree, these all-reduce around a
// ring of nodes, and each node broadcasts. With G GPUs on each of N nodes, primes for the link
// inside a node:
//
//   a = 2 alpha' log2 G + 2 (N - 1) alpha
//   b = (2 beta' + gamma) log2 G + 2 (N - 1) / N beta + (N - 1) / N gamma
//
// Scope: no other traffic; for G that is no power of two, the number of rounds rounded up. One GPU
// of a node talks to the network, so that each NIC carries the ring once in and once out.
// Parameters: none; alpha, beta and gamma are those of the cluster. Source: the rings and trees of
// 004 Table II, one after the other.
#include "netmodels/programs.h"
#include "netmodels/rounds.h"

#include <memory>
#include <utility>
#include <vector>

namespace steptime {
namespace {

constexpr ErrorBound kEstimate{-.001, .001};  // of the binomial trees

std::unique_ptr<Collective> make(const Cluster& cluster) {
  Cluster node = cluster;
  node.nodes = 1;
  Cluster leaders = cluster;
  leaders.gpus_per_node = 1;
  const RoundLinks inside(node);
  const RoundLinks between(leaders);
  const auto n = static_cast<double>(cluster.nodes);
  RoundSum sum(cluster.reduction, kEstimate);
  sum.on(Pairs::kInNode);
  sum.add_binomial(inside, true);
  sum.on(Pairs::kBetweenNodes);
  sum.add_ring(n - 1, between.ring(), 1 / n, 1 / n);
  sum.add_ring(n - 1, between.ring(), 1 / n, 0);
  sum.on(Pairs::kInNode);
  sum.add_binomial(inside, false);
  const auto nodes = static_cast<Rank>(cluster.nodes);
  const auto gpus = static_cast<Rank>(cluster.gpus_per_node);
  return std::make_unique<CollectiveOfRounds>(sum, RoundLinks(cluster), [nodes, gpus](Slice whole) {
    return one(hierarchical_all_reduce(nodes, gpus, whole));
  });
}

const bool kRegistered = Collectives::instance().add(
    "hierarchical", "reduce in each node, ring between nodes, broadcast in each node", {},
    [](const Config&, const Cluster& c) { return make(c); });

}  // namespace

std::unique_ptr<Program> hierarchical_all_reduce(Rank nodes, Rank gpus, Slice data) {
  std::vector<Sequence::Stage> stages;
  stages.push_back({.program = binomial_reduce(gpus, data),
                    .groups = nodes,
                    .group_stride = gpus,
                    .where = Pairs::kInNode});
  stages.push_back(
      {.program = ring_all_reduce(nodes, data), .stride = gpus, .where = Pairs::kBetweenNodes});
  stages.push_back({.program = binomial_broadcast(gpus, data),
                    .groups = nodes,
                    .group_stride = gpus,
                    .where = Pairs::kInNode});
  return std::make_unique<Sequence>(nodes * gpus, std::move(stages));
}

}  // namespace steptime
