#include "sim/network/slow_links.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

SlowLinks read(const std::string& json) {
  return slow_link_keys().read(config_of(json, slow_link_keys().params()));
}

TEST(SlowLinks, AreNamed) {
  const SlowLinks slow = read(R"({"factor": 4, "nodes": [7, 2]})");
  EXPECT_EQ(slow.factor, 4);
  EXPECT_EQ(slow.drawn(8, 1), (std::vector<SlowNode>{{2, {}, 4}, {7, {}, 4}}));
  EXPECT_EQ(slow.drawn(8, 2), slow.drawn(8, 1));
}

/// Of 10,000 nodes 10 % are 1000, with a standard deviation of sqrt(10,000 x 0.1 x 0.9) = 30.
TEST(SlowLinks, AreDrawnWithTheirChance) {
  const SlowLinks slow{.chance = 0.1, .factor = 2};
  for (const std::int64_t seed : {1, 2, 3})
    EXPECT_NEAR(static_cast<double>(slow.drawn(10'000, seed).size()), 1000, 5 * 30) << seed;
  EXPECT_NE(slow.drawn(10'000, 1), slow.drawn(10'000, 2));
  EXPECT_EQ(SlowLinks{.factor = 2}.drawn(100, 1).size(), 0U);
  EXPECT_EQ((SlowLinks{.chance = 1, .factor = 2}.drawn(100, 1).size()), 100U);
}

/// So that what is compared meets the same slow links.
TEST(SlowLinks, MoreNodesAndALargerChanceKeepThoseThatAreSlow) {
  const auto few = SlowLinks{.chance = 0.1, .factor = 2}.drawn(100, 5);
  for (const auto& more : {SlowLinks{.chance = 0.3, .factor = 2}.drawn(100, 5),
                           SlowLinks{.chance = 0.1, .factor = 2}.drawn(300, 5)}) {
    EXPECT_GT(more.size(), few.size());
    EXPECT_TRUE(std::ranges::includes(more, few, {}, &SlowNode::node, &SlowNode::node));
  }
}

TEST(SlowLinks, AdaptersHaveFactorsOfTheirOwn) {
  const SlowLinks slow = read(R"({"factor": 2, "nodes": [1], "adapters": [
      {"node": 2, "adapter": 1, "factor": 8}, {"node": 1, "adapter": 0, "factor": 3}]})");
  EXPECT_EQ(slow.drawn(4, 1), (std::vector<SlowNode>{{1, {}, 2}, {1, 0, 3}, {2, 1, 8}}));
}

/// Nodes with two adapters behind one switch, whose ports are 0 to 3 out and 4 to 7 in, 12 GB/s
/// each: the second adapter of node 0 is port 1.
TEST(SlowLinks, OfAnAdapterLeaveTheOthersAsTheyAre) {
  Cluster cluster{.nodes = 2};
  Topology node;
  for (const char* nic : {"nic0", "nic1"})
    node.add_vertex(nic, VertexKind::kNic);
  cluster.node = std::make_shared<Topology>(std::move(node));
  const std::vector<SlowNode> slow{{0, 1, 4}};
  const FabricUse use{4, {}, {12e9}};
  std::vector<double> gigabytes;
  for (const Channel& channel : slowed(cluster, slow).fabric(use)->channels())
    gigabytes.push_back(channel.bandwidth.bytes_per_second / 1e9);
  EXPECT_EQ(gigabytes, (std::vector<double>{12, 3, 12, 12, 12, 3, 12, 12}));
}

TEST(SlowLinks, AFactorIsRequiredWhereItCounts) {
  for (const char* json : {R"({"nodes": [1]})", R"({"chance": 0.5})"})
    EXPECT_EQ(message_of<InputError>([&] { read(json); }), "x.json: /factor: required but missing");
  EXPECT_EQ(read(R"({"adapters": [{"node": 2, "factor": 8}]})").adapters.size(), 1U);
}

TEST(SlowLinks, AnAdapterHasOneFactor) {
  const auto refusal = [](const std::string& adapter) {
    const std::string one = R"({"node": 2, )" + adapter + R"("factor": 8})";
    return message_of<InputError>([&] { read(R"({"adapters": [)" + one + ", " + one + "]}"); });
  };
  EXPECT_EQ(refusal(""), "x.json: /adapters/1/node: is there twice; expected each adapter once");
  EXPECT_EQ(refusal(R"("adapter": 1, )"),
            "x.json: /adapters/1/adapter: is there twice; expected each adapter once");
}

TEST(SlowLinks, NodesAreWholeNumbers) {
  EXPECT_EQ(message_of<InputError>([] { read(R"({"factor": 2, "nodes": [0.5]})"); }),
            "x.json: /nodes: expected a list of node numbers, whole and from 0 to one less than "
            "there are nodes, got 0.5");
}

}  // namespace
}  // namespace steptime
