#include "sim/layouts/place_links.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Channels = std::vector<ChannelId>;
using D = Dimension;

Cluster two_nodes(std::int64_t nics) {
  Cluster cluster;
  cluster.nodes = 2;
  cluster.gpus_per_node = 4;
  cluster.gpus.emplace().nics = nics;
  return cluster;
}

// Four tensor ranks fill a node: each place of the pipeline has a node and its adapters.
TEST(PlaceLinks, PlacesOnNodesOfTheirOwnShareNothing) {
  const Layout layout({4, 1, 1, 2}, {D::kTensor, D::kContext, D::kData, D::kPipeline});
  const PlaceLinks links(layout, two_nodes(1));
  EXPECT_NE(links.between_nodes(0).out, links.between_nodes(1).out);
  EXPECT_NE(links.between_nodes(0).in, links.between_nodes(1).in);
  EXPECT_EQ(links.channels(), 2 * 2 + 2 * 2);
}

// Two places side by side in each node, GPUs 0 and 1, and 2 and 3: one adapter is of both, two
// adapters are one for each.
TEST(PlaceLinks, PlacesOfANodeShareItsAdapter) {
  const Layout layout({2, 1, 2, 2}, {D::kTensor, D::kContext, D::kPipeline, D::kData});
  const PlaceLinks one(layout, two_nodes(1));
  EXPECT_EQ(one.between_nodes(0).out, one.between_nodes(1).out);
  EXPECT_NE(one.in_node(0).out, one.in_node(1).out);
  const PlaceLinks two(layout, two_nodes(2));
  EXPECT_NE(two.between_nodes(0).out, two.between_nodes(1).out);
}

// Two places of ten ranks on five nodes of four: nodes 0 and 1 are of place 0 alone, 3 and 4 of
// place 1, and node 2's adapter is of both.
TEST(PlaceLinks, APlaceMayEndWithinANode) {
  Cluster cluster;
  cluster.nodes = 5;
  cluster.gpus_per_node = 4;
  const PlaceLinks links(Layout({10, 1, 1, 2}, {D::kTensor, D::kContext, D::kData, D::kPipeline}),
                         cluster);
  const Channels& first = links.between_nodes(0).out;
  const Channels& second = links.between_nodes(1).out;
  ASSERT_EQ(first.size(), 2);
  ASSERT_EQ(second.size(), 2);
  EXPECT_EQ(first.back(), second.front());
  EXPECT_NE(first.front(), second.back());
  EXPECT_EQ(links.channels(), 2 * 2 + 3 * 2);
}

TEST(PlaceLinks, OneNodeHasNothingBeyond) {
  Cluster cluster = two_nodes(1);
  cluster.nodes = 1;
  const PlaceLinks links({{2, 1, 1, 2}, {D::kTensor, D::kContext, D::kData, D::kPipeline}},
                         cluster);
  EXPECT_EQ(links.between_nodes(0).out, Channels{});
  EXPECT_EQ(links.channels(), 4);
}

}  // namespace
}  // namespace steptime
