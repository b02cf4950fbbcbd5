#include "sim/collective/collective_player.h"

#include "netmodels/programs.h"
#include "tests/support/play.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(CollectivePlayer, StartsWhenToldTo) {
  const Machine machine(star_cluster(4));
  Engine engine;
  Network network(engine, machine);
  const Programs programs = one(ring_all_reduce(4, {0, 4000}));
  CollectivePlayer player(network, programs, {});
  player.start_at(Time(Duration(123)));
  engine.run();
  ASSERT_TRUE(player.is_over());
  EXPECT_EQ(since_start(player.end()).count(), 123 + 6 * message_ps(1000));
}

TEST(CollectivePlayer, TwoCollectivesShareTheNetwork) {
  // Two equal rings on the same ranks: every port carries two messages of 1 MB at a time, at half
  // the rate: 2 (N - 1)(alpha + 2 M / N beta).
  const Machine machine(star_cluster(4));
  Engine engine;
  Network network(engine, machine);
  const Programs programs = one(ring_all_reduce(4, {0, 4'000'000}));
  CollectivePlayer first(network, programs, {});
  CollectivePlayer second(network, programs, {});
  first.start_at(Time{});
  second.start_at(Time{});
  engine.run();
  EXPECT_EQ(since_start(first.end()).count(), 6 * message_ps(2'000'000));
  EXPECT_EQ(since_start(second.end()).count(), 6 * message_ps(2'000'000));
}

TEST(CollectivePlayer, CollectivesOnDisjointRanksDoNotMeet) {
  const Machine machine(star_cluster(6));
  Engine engine;
  Network network(engine, machine);
  const Programs programs = one(ring_all_reduce(3, {0, 3000}));
  const std::array<Endpoint, 3> even{0, 2, 4};
  const std::array<Endpoint, 3> odd{1, 3, 5};
  CollectivePlayer first(network, programs, {}, even);
  CollectivePlayer second(network, programs, {}, odd);
  first.start_at(Time{});
  second.start_at(Time{});
  engine.run();
  EXPECT_EQ(since_start(first.end()).count(), 4 * message_ps(1000));
  EXPECT_EQ(since_start(second.end()).count(), 4 * message_ps(1000));
}

TEST(CollectivePlayer, CollectivesShareTheDevice) {
  // Two pairs of ranks on the same two endpoints, 1 B each: sums take turns on the device.
  const Machine machine(star_cluster(2));
  Engine engine;
  Network network(engine, machine);
  const Programs programs = one(binomial_reduce(2, {0, 1000}));
  CollectivePlayer first(network, programs, kGamma);
  CollectivePlayer second(network, programs, kGamma);
  first.start_at(Time{});
  second.start_at(Time{});
  engine.run();
  EXPECT_EQ(since_start(first.end()).count(), message_ps(2000) + sum_ps(1000));
  EXPECT_EQ(since_start(second.end()).count(), message_ps(2000) + 2 * sum_ps(1000));
}

TEST(CollectivePlayer, OneRankIsOverAtOnce) {
  const Machine machine(star_cluster(1));
  Engine engine;
  Network network(engine, machine);
  const Programs programs = one(ring_all_reduce(1, {0, 100}));
  CollectivePlayer player(network, programs, kGamma);
  player.start_at(Time(Duration(5)));
  engine.run();
  EXPECT_TRUE(player.is_over());
  EXPECT_EQ(since_start(player.end()).count(), 5);
}

TEST(ReductionTime, IsGammaTimesBytes) {
  EXPECT_EQ(reduction_time(1000, {1e-9}).count(), 1'000'000);
  EXPECT_EQ(reduction_time(1000, {0}).count(), 0);
}

}  // namespace
}  // namespace steptime
