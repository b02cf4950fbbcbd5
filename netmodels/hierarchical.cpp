// Hierarchical: each node reduces to its first GPU along a binomial tree, these all-reduce around a
// ring of nodes, and each node broadcasts. With G GPUs on each of N nodes, primes for the link
// inside a node:
//
//   a = 2 alpha' log2 G + 2 (N - 1) alpha
//   b = (2 beta' + gamma) log2 G + 2 (N - 1) / N beta + (N - 1) / N gamma
//
// Scope: no contention; for G that is no power of two, the number of rounds rounded up. One GPU of
// a node talks to the network, so that each NIC carries the ring once in and once out. Parameters:
// none; alpha, beta and gamma are those of the cluster. Source: the rings and trees of 004 Table
// II, one after the other.
#include "netmodels/programs.h"
#include "sim/collective.h"

#include <bit>
#include <memory>
#include <utility>
#include <vector>

namespace steptime {
namespace {

LinearCost cost(const Cluster& cluster) {
  const auto n = static_cast<double>(cluster.nodes);
  const auto log_g =
      static_cast<double>(std::bit_width(static_cast<std::uint64_t>(cluster.gpus_per_node - 1)));
  const auto beta = [](const Link& link) { return inverse(link.bandwidth).seconds_per_byte; };
  const double gamma = cluster.reduction.seconds_per_byte;
  return {from_seconds(2 * log_g * to_seconds(cluster.intra_node.latency) +
                       2 * (n - 1) * to_seconds(cluster.between_nodes().latency)),
          {log_g * (2 * beta(cluster.intra_node) + gamma) +
           (n - 1) / n * (2 * beta(cluster.between_nodes()) + gamma)}};
}

const bool kRegistered = Collectives::instance().add(
    "hierarchical", "reduce in each node, ring between nodes, broadcast in each node", {},
    [](const Config&, const Cluster& c) {
      const auto nodes = static_cast<Rank>(c.nodes);
      const auto gpus = static_cast<Rank>(c.gpus_per_node);
      return std::make_unique<LinearCollective>(cost(c), [nodes, gpus](Slice whole) {
        return hierarchical_all_reduce(nodes, gpus, whole);
      });
    });

}  // namespace

std::unique_ptr<Program> hierarchical_all_reduce(Rank nodes, Rank gpus, Slice data) {
  using Where = Round::Where;
  std::vector<Sequence::Stage> stages;
  stages.push_back({.program = binomial_reduce(gpus, data),
                    .groups = nodes,
                    .group_stride = gpus,
                    .where = Where::kInNode});
  stages.push_back(
      {.program = ring_all_reduce(nodes, data), .stride = gpus, .where = Where::kBetweenNodes});
  stages.push_back({.program = binomial_broadcast(gpus, data),
                    .groups = nodes,
                    .group_stride = gpus,
                    .where = Where::kInNode});
  return std::make_unique<Sequence>(nodes * gpus, std::move(stages));
}

}  // namespace steptime
