#include "netmodels/programs.h"
#include "tests/support/collectives.h"
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

TEST(Hierarchical, WorksInTheNodesThenBetweenThemThenInThem) {
  // 4 nodes of 4 GPUs, 1000 B: two rounds of 2 us + 1000 B 100 ps, each added up, in the node; six
  // steps of 250 B between nodes, three of them added up; and back.
  const auto stages =
      collective_of(R"({"type": "hierarchical"})", cluster_of(4, 4))->stages({1000});
  ASSERT_EQ(stages.size(), 3);
  EXPECT_EQ(stages[0].where, Pairs::kInNode);
  EXPECT_EQ(stages[0].startup.count(), 2 * 2'000'000);
  EXPECT_EQ(stages[0].work.count(), 2 * (1000 * 100 + sum_ps(1000)));
  EXPECT_EQ(stages[1].where, Pairs::kBetweenNodes);
  EXPECT_EQ(stages[1].startup.count(), 6 * kLatencyPs);
  EXPECT_EQ(stages[1].work.count(), 6 * 250 * kPsPerByte + 3 * sum_ps(250));
  EXPECT_EQ(stages[2].where, Pairs::kInNode);
  EXPECT_EQ(stages[2].startup.count(), 2 * 2'000'000);
  EXPECT_EQ(stages[2].work.count(), 2 * 1000 * 100);
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
