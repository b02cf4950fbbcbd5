#include "sim/collective/link_use.h"

#include "sim/core/error.h"
#include "tests/support/collectives.h"
#include "tests/support/messages.h"
#include "tests/support/play.h"
#include "tests/support/presets.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(LinkUse, OfARingOnAStarEveryPortSendsInEveryStep) {
  // 4 nodes, 6 steps of 1,000,000 B: 6 MB out of each and into each, 800 us of 850 us a step.
  const Cluster cluster = star_cluster(4);
  const auto links =
      link_uses(*collective_of(R"({"type": "ring"})", cluster), cluster, {4'000'000});
  ASSERT_EQ(links.size(), 1U);  // one stands for all
  EXPECT_EQ(links[0].from, "network");
  EXPECT_EQ(links[0].kind, "");
  EXPECT_EQ(links[0].bytes, 6'000'000);
  EXPECT_NEAR(links[0].busy, 800.0 / 850, 1e-9);
}

TEST(LinkUse, OfATreeTheLinksAreThoseOfItsCopies) {
  // GPUs 0 to 3 of a p3: 3 -> 0 and 2 -> 1 over two NVLinks, then 1 -> 0 over one, which is busy
  // for M / 23.94 GB/s in each direction; the other NVLinks of the four carry nothing.
  const Cluster cluster = preset_cluster("p3.16xlarge", 1, 4);
  const auto tree = collective_of(R"({"type": "tree"})", cluster);
  const auto links = link_uses(*tree, cluster, {8'000'000});
  ASSERT_EQ(links.size(), 6U);
  EXPECT_EQ(links[0].from, "gpu0");
  EXPECT_EQ(links[0].to, "gpu1");
  EXPECT_EQ(links[0].kind, "nvlink");
  EXPECT_EQ(links[1].from, "gpu1");
  EXPECT_NEAR(links[0].busy, 8e6 / 23.94e9 / to_seconds(tree->time({8'000'000})), 1e-9);
  for (const LinkUse& link : links)
    EXPECT_EQ(link.bytes, 8'000'000);
  EXPECT_NEAR(links[5].bandwidth.bytes_per_second, 47.88e9, 1);
}

TEST(LinkUse, OfANodeWithoutAGraphItsPorts) {
  // A ring over two nodes of two GPUs: GPU 0 of each sends to GPU 1, which sends to the other node.
  Cluster cluster = star_cluster(2);
  cluster.gpus_per_node = 2;
  const auto links = link_uses(*collective_of(R"({"type": "ring"})", cluster), cluster, {4000});
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links[0].from + " " + links[0].to, "gpu0 switch");
  EXPECT_EQ(links[1].from + " " + links[1].to, "switch gpu1");
  EXPECT_EQ(links[2].from + " " + links[2].to, "network network");
  for (const LinkUse& link : links)
    EXPECT_EQ(link.bytes, 6000);
}

TEST(LinkUse, PartsAddUp) {
  // One part keeps a link busy for half of 2 s, another for a quarter of 4 s: 2 s of 10.
  const TimedUses one{{{.from = "a", .to = "b", .bytes = 5, .busy = 0.5}}, 2};
  const TimedUses two{{{.from = "b", .to = "a", .bytes = 9, .busy = 0.75},
                       {.from = "a", .to = "b", .bytes = 6, .busy = 0.25}},
                      4};
  const auto sum = sum_of(std::vector{one, two}, 10);
  ASSERT_EQ(sum.size(), 2U);
  EXPECT_EQ(sum[0].from, "b");  // 3 s
  EXPECT_EQ(sum[1].bytes, 11);
  EXPECT_NEAR(sum[1].busy, 0.2, 1e-12);
  EXPECT_EQ(links_json(sum)[1].dump(),
            R"({"from":"a","to":"b","kind":"","bandwidth_GBps":0.0,"bytes":11,"busy":0.2})");
}

TEST(LinkUse, NothingIsBusyWithoutBytesAndATimeHasNoLinks) {
  const Cluster cluster = star_cluster(3);
  EXPECT_TRUE(link_uses(*collective_of(R"({"type": "ring"})", cluster), cluster, {0}).empty());
  EXPECT_EQ(message_of<PlacedError>([&] {
              link_uses(
                  *collective_of(R"({"type": "linear", "a": "1 us", "b": "1 ns/B"})", cluster),
                  cluster, {8});
            }),
            "--links plays messages: fidelity \"message\" needs a collective that is made of "
            "messages; this one "
            "is known by its time only");
}

}  // namespace
}  // namespace steptime
