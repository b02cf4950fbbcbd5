#include "sim/core/error.h"
#include "tests/support/collectives.h"
#include "tests/support/play.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(MultiRing, OnSharedPortsCostsWhatOneRingDoes) {
  // Two rings of 4000 B over 5 ranks' ports, at half the rate each: 8 (alpha + 2 * 800 beta).
  const Cluster cluster = star_cluster(5);
  const auto collective = collective_of(R"({"type": "multi-ring", "rings": 2})", cluster);
  EXPECT_EQ(collective->time({8000}).count(), 8 * message_ps(1600));
  EXPECT_EQ(MessageTimes(cluster, *collective).time({8000}).count(), 8 * message_ps(1600));
}

TEST(MultiRing, MessagesEqualTheClosedForm) {
  // Segments of equal size keep the rings in step at their ports.
  for (Rank n = 3; n <= 33; ++n) {
    const Cluster cluster = star_cluster(n);
    const auto collective = collective_of(R"({"type": "multi-ring", "rings": 2})", cluster);
    for (const std::int64_t m : {0, 2 * n, 2000 * n, 100'000 * n})
      EXPECT_EQ(MessageTimes(cluster, *collective).time({m}), collective->time({m}))
          << n << " ranks, " << m << " B";
  }
}

TEST(MultiRing, OneRingAddsUpWhileAnotherSends) {
  // Between what the ports need, 2 (N - 1)(alpha + 2 s beta), and that with all sums in turn.
  for (const Rank n : {5, 8, 16, 33}) {
    const Cluster cluster = star_cluster(n, kGamma);
    const auto collective = collective_of(R"({"type": "multi-ring", "rings": 2})", cluster);
    const std::int64_t segment = 100'000;
    const std::int64_t played = MessageTimes(cluster, *collective).time({2 * n * segment}).count();
    EXPECT_LT(played, collective->time({2 * n * segment}).count());
    EXPECT_GT(played, 2 * (n - 1) * message_ps(segment) + (n - 1) * sum_ps(segment));
  }
}

TEST(MultiRing, OnLinksOfTheirOwnTheMessagesDoToo) {
  // Five GPUs, each with a link to each other: stride 1 and stride 2 have no link in common.
  Cluster cluster = star_cluster(1);
  cluster.gpus_per_node = 5;
  auto node = std::make_shared<Topology>();
  for (int gpu = 0; gpu < 5; ++gpu)
    node->add_vertex("gpu" + std::to_string(gpu), VertexKind::kGpu);
  for (Topology::Vertex a = 0; a < 5; ++a) {
    for (Topology::Vertex b = a + 1; b < 5; ++b)
      node->add_link({a, b, cluster.network.latency, cluster.network.bandwidth, 1, ""});
  }
  cluster.node = node;
  const auto collective =
      collective_of(R"({"type": "multi-ring", "rings": 2, "links": "own"})", cluster);
  EXPECT_EQ(collective->time({10'000}).count(), 8 * message_ps(1000));
  EXPECT_EQ(MessageTimes(cluster, *collective).time({10'000}).count(), 8 * message_ps(1000));
}

TEST(MultiRing, OnLinksOfTheirOwnRingsAddUp) {
  const auto collective =
      collective_of(R"({"type": "multi-ring", "rings": 2, "links": "own"})", star_cluster(5));
  EXPECT_EQ(collective->time({8000}).count(), 8 * message_ps(800));
}

TEST(MultiRing, LeavesTheSumOnEveryRank) {
  for (const Rank n : {3, 5, 8, 16, 33}) {
    const auto collective = collective_of(R"({"type": "multi-ring", "rings": 2})", star_cluster(n));
    EXPECT_TRUE(all_reduces(collective->programs({301}), n, 301, star_cluster(n)));
  }
}

TEST(MultiRing, RefusesMoreRingsThanThereAre) {
  try {
    collective_of(R"({"type": "multi-ring", "rings": 3})", star_cluster(6));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "x.json: /collective/rings: 6 ranks have 2 different rings at most, got 3");
  }
}

}  // namespace
}  // namespace steptime
