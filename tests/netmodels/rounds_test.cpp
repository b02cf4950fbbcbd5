#include "netmodels/rounds.h"

#include "netmodels/programs.h"

#include <array>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// Between nodes 10 us and 1 ns/B, inside 1 us and 0.25 ns/B; gamma = 0.5 ns/B.
Cluster cluster_of(std::int64_t nodes, std::int64_t gpus) {
  Cluster cluster{.nodes = nodes, .gpus_per_node = gpus, .reduction = {.5e-9}};
  cluster.network = {std::chrono::microseconds(10), {1e9}};
  cluster.intra_node = {std::chrono::microseconds(1), {4e9}};
  return cluster;
}

TEST(RoundSum, AddsUpItsRounds) {
  // 2 nodes of 4, halving: M/2 between nodes at a quarter of the rate, M/4 and M/8 inside; and
  // back.
  //   2 (12 us + (4/2 + .25/4 + .25/8) ns/B M) + (1/2 + 1/4 + 1/8) gamma M
  const Cluster cluster = cluster_of(2, 4);
  RoundSum sum(cluster.reduction);
  sum.add_halving(RoundLinks(cluster), false);
  ASSERT_TRUE(sum.linear().has_value());
  EXPECT_EQ(sum.linear()->a, std::chrono::microseconds(24));
  EXPECT_DOUBLE_EQ(sum.linear()->b.seconds_per_byte, 2 * 2.09375e-9 + .875 * .5e-9);
  EXPECT_DOUBLE_EQ(sum.seconds(1e6), 24e-6 + 1e6 * sum.linear()->b.seconds_per_byte);
  EXPECT_TRUE(sum.exact());
}

TEST(RoundSum, FoldsRanksThatAreTooMany) {
  // 3 ranks: 0 to 1, 1 with 2, 1 to 0, all of M: 3 (alpha + M beta) + 2 M gamma.
  const Cluster cluster = cluster_of(3, 1);
  RoundSum sum(cluster.reduction);
  sum.add_doubling(RoundLinks(cluster));
  EXPECT_EQ(sum.linear()->a, std::chrono::microseconds(30));
  EXPECT_DOUBLE_EQ(sum.linear()->b.seconds_per_byte, 4e-9);
}

TEST(RoundSum, IsNoLineWhereAnotherLinkBecomesTheSlowest) {
  Cluster cluster = cluster_of(2, 2);
  cluster.intra_node.bandwidth = {.5e9};  // 2 ns/B
  RoundSum sum({});
  sum.add_ring(3, RoundLinks(cluster).ring(), .25, 0);
  EXPECT_FALSE(sum.linear().has_value());
  EXPECT_DOUBLE_EQ(sum.seconds(4), 3 * (10e-6 + 1e-9));
  EXPECT_DOUBLE_EQ(sum.seconds(4e6), 3 * (1e-6 + 2e-3));
  EXPECT_TRUE(sum.exact());
}

TEST(RoundSum, SaysWhereRanksFallOutOfStep) {
  const Cluster cluster = cluster_of(3, 3);
  const RoundLinks links(cluster);
  RoundSum sum(cluster.reduction);
  sum.add_binomial(links, true);
  EXPECT_FALSE(sum.exact());
  const CollectiveOfRounds tree(
      sum, links, [](Slice whole) { return one(binomial_reduce(9, whole)); }, Operation::kReduce);
  EXPECT_EQ(
      tree.outside_domain(Bytes{1}),
      "ranks fall out of step, which the closed form only estimates; \"message\" fidelity plays "
      "every message");
}

TEST(RoundSum, PortsThatTakeTurnsPutRanksOutOfStep) {
  Cluster cluster = cluster_of(2, 4);
  cluster.fifo_ports = true;
  RoundSum sum(cluster.reduction);
  sum.add_halving(RoundLinks(cluster), false);
  EXPECT_FALSE(sum.exact());
}

TEST(CollectiveOfRounds, OutOfStepIsTheLineThroughItsMessages) {
  // 3 nodes of 2, a reduction: rank 1 to 0, 3 to 2, 5 to 4; 2 to 0; 4 to 0: one message inside and
  // two between nodes follow one another, 1 + 2 x 10 us and .25 + 2 x 1 ns/B; three sums.
  const Cluster cluster = cluster_of(3, 2);
  const RoundLinks links(cluster);
  RoundSum sum(cluster.reduction);
  sum.add(1, links.time(std::array{Sent{0, 1}, Sent{1, 2}}), 1, 0);  // uneven
  ASSERT_FALSE(sum.in_step());
  const CollectiveOfRounds tree(
      sum, links, [](Slice whole) { return one(binomial_reduce(6, whole)); }, Operation::kReduce);
  ASSERT_TRUE(tree.linear().has_value());
  EXPECT_EQ(tree.startup(), std::chrono::microseconds(21));
  EXPECT_NEAR(tree.linear()->b.seconds_per_byte, 2.25e-9 + 3 * .5e-9, 1e-20);
}

TEST(CollectiveOfRounds, ALargeFabricIsTakenForASwitch) {
  Cluster cluster = cluster_of(RoundLinks::kMostKnown + 1, 1);
  cluster.fabric = switch_fabric;
  const RoundLinks links(cluster);
  EXPECT_TRUE(links.leaves_out_fabric());
  EXPECT_EQ(what_is_left_out(links, true),
            "the closed form takes the fabric for one switch; \"message\" fidelity does not");
  cluster.nodes = 8;
  EXPECT_FALSE(RoundLinks(cluster).leaves_out_fabric());
  EXPECT_EQ(what_is_left_out(RoundLinks(cluster), true), "");
}

}  // namespace
}  // namespace steptime
