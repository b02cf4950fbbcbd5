#include "sim/collective/collective_player.h"

#include "netmodels/programs.h"
#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/play.h"
#include "tests/support/unmatched.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

/// What a collective that began at `start` passed for, and that this is all of its time.
void expect_parts(const CollectivePlayer& player, Time start, const PlayedParts& expected) {
  const PlayedParts& parts = player.parts();
  EXPECT_EQ(parts.whole(), player.end() - start);
  EXPECT_EQ(parts.startup, expected.startup);
  EXPECT_EQ(parts.transfer, expected.transfer);
  EXPECT_EQ(parts.sharing, expected.sharing);
  EXPECT_EQ(parts.sums, expected.sums);
}

TEST(CollectivePlayer, TellsWhatItsTimePassesFor) {
  // A ring of 4 ranks, 1000 B a message: 6 rounds, of which 3 add up. Played by itself on links of
  // its own, and as messages that are whole at each hop: two hops of a star, of 25 us and 800 ps/B
  // each.
  const Duration transfer(1000 * kPsPerByte);
  for (const bool hops : {false, true}) {
    const Machine machine(star_cluster(4, kGamma));
    Engine engine;
    Network network(engine, machine, {.store_and_forward = hops});
    const Programs programs = one(ring_all_reduce(4, {0, 4000}));
    CollectivePlayer player(network, programs, kGamma, {}, nullptr, true);
    player.start_at(Time(Duration(77)));
    engine.run();
    expect_parts(player, Time(Duration(77)),
                 {.startup = 6 * Duration(kLatencyPs),
                  .transfer = 6 * (hops ? 2 : 1) * transfer,
                  .sums = 3 * Duration(sum_ps(1000))});
  }
}

TEST(CollectivePlayer, TellsWhatOthersMakeOfItsTime) {
  // Two rings on the same ranks: each message gets half of its links, and takes twice as long.
  const Machine machine(star_cluster(4));
  Engine engine;
  Network network(engine, machine);
  const Programs programs = one(ring_all_reduce(4, {0, 4'000'000}));
  CollectivePlayer first(network, programs, {}, {}, nullptr, true);
  CollectivePlayer second(network, programs, {});
  first.start_at(Time{});
  second.start_at(Time{});
  engine.run();
  const Duration transfer(6'000'000 * kPsPerByte);
  expect_parts(first, Time{},
               {.startup = 6 * Duration(kLatencyPs), .transfer = transfer, .sharing = transfer});
}

TEST(CollectivePlayer, WaitsForTheDeviceAreSums) {
  // As above on two endpoints, with sums that take turns: the second waits for that of the first.
  const Machine machine(star_cluster(2));
  Engine engine;
  Network network(engine, machine);
  const Programs programs = one(binomial_reduce(2, {0, 1000}));
  CollectivePlayer first(network, programs, kGamma);
  CollectivePlayer second(network, programs, kGamma, {}, nullptr, true);
  first.start_at(Time{});
  second.start_at(Time{});
  engine.run();
  const Duration transfer(1000 * kPsPerByte);
  expect_parts(second, Time{},
               {.startup = Duration(kLatencyPs),
                .transfer = transfer,
                .sharing = transfer,
                .sums = 2 * Duration(sum_ps(1000))});
}

struct Listener final : CollectiveUser {
  std::vector<std::int32_t> heard;
  void over(std::int32_t who) override { heard.push_back(who); }
};

// Rings of 4000 B and of 8000 B side by side end at different times, two of the same size at one.
TEST(CollectivePlayer, TellsOnceThatAllProgramsAreOver) {
  for (const std::int64_t second : {4000, 8000}) {
    const Machine machine(star_cluster(4));
    Engine engine;
    Network network(engine, machine);
    Programs programs = one(ring_all_reduce(4, {0, 4000}));
    programs.push_back(ring_all_reduce(4, {4000, second}));
    CollectivePlayer player(network, programs, {});
    Listener listener;
    player.tell(listener, 7);
    player.start_at(Time{});
    engine.run();
    EXPECT_EQ(listener.heard, std::vector{7});
    EXPECT_TRUE(player.is_over());
    EXPECT_NO_THROW(player.expect_over(nullptr));
  }
}

TEST(CollectivePlayer, NamesTheRankThatWaitsForEver) {
  const Unmatched unmatched(star_cluster(3));
  EXPECT_EQ(message_of<InternalError>([&] { unmatched.time({100}); }),
            "steptime::Unmatched: " + kWaits);
  const Programs programs = unmatched.programs({100});
  EXPECT_EQ(
      message_of<InternalError>([&] { played_time(programs, Machine(star_cluster(3)), {}, {}); }),
      "a collective: " + kWaits);
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
