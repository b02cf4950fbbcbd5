#include "netmodels/programs.h"
#include "tests/support/play.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Cluster cluster_of(std::int64_t nodes, std::int64_t gpus) {
  Cluster cluster = star_cluster(nodes, kGamma);
  cluster.gpus_per_node = gpus;
  cluster.intra_node = {std::chrono::microseconds(2), {1e10}};  // 100 ps per byte
  return cluster;
}

TEST(Hierarchical, CostsItsPartsOneAfterTheOther) {
  for (const Rank nodes : {1, 2, 5, 8}) {
    for (const Rank gpus : {1, 2, 3, 8}) {
      std::int64_t rounds = 0;
      while ((1 << rounds) < gpus)
        ++rounds;
      for (const std::int64_t m : kSizes) {
        const std::int64_t segment = (m + nodes - 1) / nodes;
        const std::int64_t inside = 2'000'000 + 100 * m;
        EXPECT_EQ(play(hierarchical_all_reduce(nodes, gpus, {0, m}), cluster_of(nodes, gpus)),
                  2 * rounds * inside + rounds * sum_ps(m) +
                      (nodes - 1) * (2 * message_ps(segment) + sum_ps(segment)))
            << nodes << " x " << gpus << ", " << m << " B";
      }
    }
  }
}

TEST(Hierarchical, LeavesTheSumOnEveryRank) {
  for (Rank nodes = 1; nodes <= 8; ++nodes) {
    for (Rank gpus = 1; gpus <= 4; ++gpus) {
      for (const std::int64_t m : {0, 3, 100})
        EXPECT_TRUE(all_reduces(one(hierarchical_all_reduce(nodes, gpus, {0, m})), nodes * gpus, m,
                                cluster_of(nodes, gpus)));
    }
  }
}

}  // namespace
}  // namespace steptime
