#include "sim/collective/collective_player.h"

#include "netmodels/programs.h"
#include "sim/collective/message_collective.h"
#include "sim/core/error.h"
#include "tests/support/play.h"

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

/// Rank 1 waits for a message of rank 2, which sends none.
class NeverMatches final : public Program {
 public:
  Rank ranks() const override { return 3; }
  std::int32_t steps(Rank rank) const override { return rank == 1 ? 1 : 0; }
  Op op(Rank, std::int32_t) const override {
    return {.recv = {.first = 2, .count = 1, .slice = {0, 100}}};
  }
  double messages() const override { return 1; }
};

class Unmatched final : public MessageCollective {
 public:
  using MessageCollective::MessageCollective;
  Programs programs(Bytes) const override { return one(std::make_unique<NeverMatches>()); }
};

TEST(CollectivePlayer, NamesTheRankThatWaitsForEver) {
  const auto fault = [](auto run) -> std::string {
    try {
      run();
    } catch (const InternalError& e) {
      return e.what();
    }
    return "";
  };
  const std::string waits =
      "rank 1 of 3 waits in its step 0 to receive from rank 2 in that one's step 0, which has "
      "ended: no such message is ever sent";
  const Unmatched unmatched(star_cluster(3));
  EXPECT_EQ(fault([&] { unmatched.time({100}); }),
            "steptime::(anonymous namespace)::Unmatched: " + waits);
  const Programs programs = unmatched.programs({100});
  EXPECT_EQ(fault([&] { played_time(programs, Machine(star_cluster(3)), {}, {}); }),
            "a collective: " + waits);
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
