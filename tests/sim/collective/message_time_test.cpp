#include "sim/collective/message_time.h"

#include "netmodels/programs.h"
#include "sim/core/error.h"
#include "tests/support/collectives.h"
#include "tests/support/messages.h"
#include "tests/support/play.h"

#include <chrono>
#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(MessageTimes, TakesTheSymmetricPathOnEqualLinks) {
  const Cluster cluster = star_cluster(8, kGamma);
  const Machine machine(cluster);
  const auto programs = one(ring_all_reduce(8, {0, 1001}));
  const auto symmetric = symmetric_time(programs, machine, kGamma, {});
  ASSERT_TRUE(symmetric);
  EXPECT_EQ(*symmetric, played_time(programs, machine, kGamma, {}));
  const auto ring = collective_of(R"({"type": "ring"})", cluster);
  EXPECT_EQ(MessageTimes(cluster, *ring).time({1001}), *symmetric);
}

TEST(MessageTimes, TakesTheGeneralPathElsewhere) {
  const auto programs = one(ring_all_reduce(8, {0, 1001}));
  Machine slow(star_cluster(8));
  slow.set_bandwidth(3, {1e9});
  EXPECT_FALSE(symmetric_time(programs, slow, {}, {}));

  Cluster several = star_cluster(4);
  several.gpus_per_node = 2;
  EXPECT_FALSE(symmetric_time(programs, Machine(several), {}, {}));

  const Machine star(star_cluster(8));
  EXPECT_FALSE(symmetric_time(programs, star, {}, {.store_and_forward = true}));
  // With a rendezvous cheaper than an eager send, a longer message may be the faster one.
  EXPECT_FALSE(symmetric_time(programs, star, {}, {.eager_overhead = Duration(1)}));

  Programs two = one(ring_all_reduce(8, {0, 500}));
  two.push_back(ring_all_reduce(8, {500, 500}, 3));
  EXPECT_FALSE(symmetric_time(two, star, {}, {}));
}

// The network is idle between two of them, so that nothing is left of the one before: also where
// flows that shared links have moved from one bottleneck to another.
TEST(MessageTimes, WhatWasPlayedBeforeChangesNothing) {
  Cluster cluster = star_cluster(5);
  cluster.gpus_per_node = 3;
  const auto trees = collective_of(R"({"type": "double-binary-tree"})", cluster);
  MessageTimes one_after_another(cluster, *trees);
  for (std::int64_t bytes = 12'345; bytes < 20'000'000; bytes = bytes * 7 / 4) {
    MessageTimes alone(cluster, *trees);
    EXPECT_EQ(one_after_another.time({bytes}), alone.time({bytes})) << bytes << " B";
  }
}

// 115,036 B make links share in another order than 1,004,892 B do, so that other links count the
// bytes of flows in the latter's trees. One of these ends at half a picosecond, which is rounded up
// whichever of the counts puts it just below.
TEST(MessageTimes, TheOrderInWhichLinksWereSharedFirstChangesNothing) {
  Cluster cluster;
  cluster.nodes = 5;
  cluster.gpus_per_node = 3;
  cluster.network = {std::chrono::microseconds(1), {1e9}};
  cluster.intra_node = {std::chrono::microseconds(2), {3e9}};
  const auto trees = collective_of(R"({"type": "double-binary-tree"})", cluster);
  MessageTimes alone(cluster, *trees);
  MessageTimes behind(cluster, *trees);
  (void)behind.time({115'036});
  EXPECT_EQ(behind.time({1'004'892}), alone.time({1'004'892}));
}

TEST(MessageTimes, NeedsMessages) {
  const LinearCollective measured({});
  const Cluster cluster = star_cluster(2);
  EXPECT_EQ(message_of<PlacedError>([&] { MessageTimes(cluster, measured); }),
            "/run/fidelity: \"message\" needs a collective that is made of messages, such as ring; "
            "this one is "
            "known by its time only");
}

}  // namespace
}  // namespace steptime
