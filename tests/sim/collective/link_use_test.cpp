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

TEST(LinkUse, TheBusiestIsThatOfAllTimeAndBytesAreThoseOfAStep) {
  // Two nodes of one GPU, each with a channel out and one in, 1.25 GB/s: in 4 steps of 10 s
  // together one carries 9 GB, which take it 7.2 s.
  const Cluster cluster = star_cluster(2);
  const Machine machine(cluster);
  const std::vector<std::int64_t> bytes{4'000'000'000, 9'000'000'000, 0, 0};
  ASSERT_EQ(machine.channel_count(), 4);
  const auto links = link_uses(cluster, machine, bytes, {.seconds = 10, .steps = 4});
  ASSERT_EQ(links.size(), 1U);
  EXPECT_EQ(links_json(links)[0]["bytes"], 2'250'000'000);
  EXPECT_NEAR(links[0].busy, 0.72, 1e-12);
  EXPECT_EQ(links_json(std::vector{LinkUse{"a", "b", "", Bandwidth{}, 11, 0.2}})[0].dump(),
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
            "messages, such as ring; this one "
            "is known by its time only");
}

}  // namespace
}  // namespace steptime
