#include "sim/layouts/shared_links.h"

#include "tests/support/layouts.h"

#include <memory>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Two tensor ranks in a node, two places, a node each; two replicas: `data`.
LayoutPlan two_places(std::int32_t data) {
  Cluster cluster;
  cluster.nodes = 2 * data;
  cluster.gpus_per_node = 2;
  cluster.network = {{}, {1e12}};
  cluster.intra_node = {{}, {10e12}};
  return plan_of(
      {.degrees = {2, 1, data, 2}, .cluster = std::make_shared<const Cluster>(std::move(cluster))},
      work_of_blocks(2, {1, 1, 1}));
}

TEST(SharedLinks, WithoutAClusterNothingShares) {
  const LayoutPlan plan = plan_of({.degrees = {2, 1, 2, 2}}, work_of_blocks(2, {1, 1, 1}));
  const SharedLinks links(plan);
  EXPECT_EQ(links.channels(), 0);
  EXPECT_TRUE(links.are_alone(0, GroupKind::kTensor));
  EXPECT_TRUE(links.is_hop_alone(1, true));
}

// Tensor groups have the ports inside their node for themselves. Of two places, what one sends
// forward and what it sends back go to the same place, through the same adapter.
TEST(SharedLinks, BothDirectionsOfAPipelineLeaveThroughOneAdapter) {
  const LayoutPlan plan = two_places(1);
  const SharedLinks links(plan);
  EXPECT_TRUE(links.are_alone(0, GroupKind::kTensor));
  EXPECT_TRUE(links.are_alone(0, GroupKind::kShards));  // a group of one
  EXPECT_FALSE(links.is_hop_alone(0, false));
  const Network::Loads& forward = links.of_hop(0, false).between_nodes;
  const Network::Loads& back = links.of_hop(0, true).between_nodes;
  ASSERT_EQ(forward.size(), 2u);
  EXPECT_EQ(forward[0].channel, back[0].channel);
  EXPECT_EQ(forward[1].channel, back[1].channel);
}

TEST(SharedLinks, ReplicasSumThroughTheAdapterThatThePipelineUses) {
  const LayoutPlan plan = two_places(2);
  const SharedLinks links(plan);
  EXPECT_FALSE(links.are_alone(0, GroupKind::kShards));
  EXPECT_EQ(links.of_group(0, GroupKind::kShards).between_nodes[0].channel,
            links.of_hop(0, false).between_nodes[0].channel);
}

// Two tensor ranks and two replicas on a node, two places on a node each: all that is on the ports
// inside a node are collectives of its place.
TEST(SharedLinks, TensorRanksMeetTheirOwnReplicasInANode) {
  Cluster cluster;
  cluster.nodes = 2;
  cluster.gpus_per_node = 4;
  cluster.network = {{}, {1e12}};
  cluster.intra_node = {{}, {1e12}};
  LayoutPlan plan = plan_of(
      {.degrees = {2, 1, 2, 2}, .cluster = std::make_shared<const Cluster>(std::move(cluster))},
      work_of_blocks(2, {1, 1, 1}));
  const SharedLinks links(plan);
  EXPECT_FALSE(links.are_alone(0, GroupKind::kTensor));
  EXPECT_TRUE(links.are_among_own(0, GroupKind::kTensor));
  EXPECT_TRUE(links.are_among_own(1, GroupKind::kShards));
  // An exchange of 100 B works for 2 x 1/2 x 100 ps, out and in.
  const Leg leg{
      .exchange = {.collective = plan.costs(GroupKind::kTensor).all_reduce.get(), .bytes = {100}}};
  const auto work = links.work_of(0, Segment{.legs = {&leg, &leg}});
  ASSERT_EQ(work.size(), 2u);
  EXPECT_EQ(work[0].second, 200);
  EXPECT_EQ(work[1].second, 200);
}

// With both places on one node, what they send each other goes through the ports, too.
TEST(SharedLinks, TensorRanksMeetSendsWithinANode) {
  Cluster cluster;
  cluster.gpus_per_node = 4;
  cluster.network = {{}, {1e12}};
  cluster.intra_node = {{}, {1e12}};
  const LayoutPlan plan = plan_of(
      {.degrees = {2, 1, 1, 2}, .cluster = std::make_shared<const Cluster>(std::move(cluster))},
      work_of_blocks(2, {1, 1, 1}));
  EXPECT_FALSE(SharedLinks(plan).are_among_own(0, GroupKind::kTensor));
}

TEST(SharedLinks, NeighboursFormARing) {
  const Layout layout({1, 1, 1, 3}, TestLayout{}.order_of_ranks);
  EXPECT_EQ(next_to(layout, 2, false), 0);
  EXPECT_EQ(next_to(layout, 0, true), 2);
}

}  // namespace
}  // namespace steptime
