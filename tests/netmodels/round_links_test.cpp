#include "netmodels/round_links.h"

#include <array>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// Between nodes 10 us and 1 ns/B, inside 1 us and 0.25 ns/B.
Cluster cluster_of(std::int64_t nodes, std::int64_t gpus) {
  Cluster cluster{.nodes = nodes, .gpus_per_node = gpus};
  cluster.network = {std::chrono::microseconds(10), {1e9}};
  cluster.intra_node = {std::chrono::microseconds(1), {4e9}};
  return cluster;
}

void expect_line(const RoundTime& time, double alpha, double beta) {
  ASSERT_TRUE(time.slowest.line().has_value());
  EXPECT_DOUBLE_EQ(time.slowest.line()->alpha, alpha);
  EXPECT_DOUBLE_EQ(time.slowest.line()->beta, beta);
}

TEST(RoundLinks, AllGpusOfANodeShareItsNic) {
  // Ranks 4 apart on nodes of 4: four messages leave each node, at a quarter of the rate.
  for (const std::int64_t nodes : {2, 4, 1 << 20}) {
    const RoundLinks links(cluster_of(nodes, 4));
    expect_line(links.swap(1), 1e-6, .25e-9);
    expect_line(links.swap(2), 1e-6, .25e-9);
    expect_line(links.swap(4), 10e-6, 4e-9);
    expect_line(links.swap(2 * nodes), 10e-6, 4e-9);
    EXPECT_TRUE(links.swap(4).even);
    // Of a ring one message leaves a node, of a tree at most.
    expect_line(links.ring(), 10e-6, 1e-9);
    EXPECT_TRUE(links.ring().apart);
    EXPECT_FALSE(links.ring().even);
    expect_line(links.tree(2), 1e-6, .25e-9);
    expect_line(links.tree(4), 10e-6, 1e-9);
  }
}

TEST(RoundLinks, OneGpuPerNodeOrOneNodeHasPortsOfItsOwn) {
  for (const std::int64_t distance : {1, 2, 4}) {
    expect_line(RoundLinks(cluster_of(8, 1)).swap(distance), 10e-6, 1e-9);
    expect_line(RoundLinks(cluster_of(1, 8)).swap(distance), 1e-6, .25e-9);
    expect_line(RoundLinks(cluster_of(8, 1)).tree(distance), 10e-6, 1e-9);
  }
  expect_line(RoundLinks(cluster_of(1, 8)).ring(), 1e-6, .25e-9);
  EXPECT_EQ(RoundLinks(cluster_of(1, 1)).ring().slowest.seconds(1e9), 0);
}

TEST(RoundLinks, StridesAddUpAtThePorts) {
  // Strides 1, 3 and 7 on nodes of 4: 1, 3 and 4 messages leave a node.
  const std::array<std::int64_t, 3> strides{1, 3, 7};
  for (const std::int64_t nodes : {4, 64, 1 << 20})
    expect_line(RoundLinks(cluster_of(nodes, 4)).rings(strides), 10e-6, 8e-9);
  expect_line(RoundLinks(cluster_of(1, 8)).rings(strides), 1e-6, .75e-9);
}

TEST(RoundLinks, ARoundMayMixBoth) {
  // Nodes of 3, distance 1: ranks 2 and 3 swap between nodes, 0 and 1, 4 and 5 inside.
  const RoundTime mixed = RoundLinks(cluster_of(4, 3)).tree(1);
  expect_line(mixed, 10e-6, 1e-9);
  EXPECT_FALSE(mixed.even);
  // A slow inside: neither is slower for every size.
  Cluster cluster = cluster_of(4, 3);
  cluster.intra_node.bandwidth = {.5e9};
  const Envelope both = RoundLinks(cluster).tree(1).slowest;
  EXPECT_FALSE(both.line().has_value());
  EXPECT_DOUBLE_EQ(both.seconds(0), 10e-6);
  EXPECT_DOUBLE_EQ(both.seconds(1e6), 1e-6 + 2e-3);
}

TEST(RoundLinks, FoldedRanksAreTwiceAsFarApart) {
  // 6 ranks on nodes of 2: 0 folds onto 1, 2 onto 3; 1, 3, 4, 5 are left. Then 1 and 3 swap between
  // nodes and 4 and 5 inside; at distance two 1 swaps with 4, and 3 with 5: two messages of node 2.
  const RoundLinks links(cluster_of(3, 2));
  EXPECT_EQ(unfolded(6), 4);
  expect_line(links.fold(), 1e-6, .25e-9);
  expect_line(links.swap(1), 10e-6, 1e-9);
  EXPECT_FALSE(links.swap(1).even);
  expect_line(links.swap(2), 10e-6, 2e-9);
}

TEST(RoundLinks, AChainCrossesEachLinkOnce) {
  // 3 nodes of 4: nine messages inside, two between.
  const RoundLinks::Chain chain = RoundLinks(cluster_of(3, 4)).chain();
  EXPECT_DOUBLE_EQ(chain.sum.alpha, 9 * 1e-6 + 2 * 10e-6);
  EXPECT_DOUBLE_EQ(chain.sum.beta, 9 * .25e-9 + 2 * 1e-9);
  expect_line(chain.time, 10e-6, 1e-9);
}

// Two GPUs and two NICs: each GPU has its own.
//
//   gpu0 - plx - nic0     gpu1 - plx
//            \ - nic1
TEST(RoundLinks, SeveralNicsShareTheLoad) {
  Cluster cluster = cluster_of(2, 2);
  auto node = std::make_shared<Topology>();
  const auto gpu0 = node->add_vertex("gpu0", VertexKind::kGpu);
  const auto gpu1 = node->add_vertex("gpu1", VertexKind::kGpu);
  const auto plx = node->add_vertex("plx", VertexKind::kPcieSwitch);
  for (const auto end : {gpu0, gpu1, node->add_vertex("nic0", VertexKind::kNic)})
    node->add_link({end, plx, std::chrono::microseconds(1), {8e9}, 1, ""});
  cluster.node = node;
  // Two hops at each end, 1 us each; the NIC is shared by two.
  expect_line(RoundLinks(cluster).swap(2), 14e-6, 2e-9);
  auto more = std::make_shared<Topology>(*node);
  more->add_link({more->add_vertex("nic1", VertexKind::kNic),
                  plx,
                  std::chrono::microseconds(1),
                  {8e9},
                  1,
                  ""});
  cluster.node = more;
  expect_line(RoundLinks(cluster).swap(2), 14e-6, 1e-9);
}

TEST(RoundLinks, AGraphWithoutNicsSaysNothingOfOtherNodes) {
  Cluster cluster = cluster_of(2, 1);
  auto node = std::make_shared<Topology>();
  node->add_vertex("gpu0", VertexKind::kGpu);
  cluster.node = node;
  expect_line(RoundLinks(cluster).ring(), 10e-6, 1e-9);
}

}  // namespace
}  // namespace steptime
