// Does a rank that runs ahead still wait for what may come?
#include "sim/mxnet/rank_clock.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kSecond{1'000'000'000'000};

struct Silent final : MpiWorld::Listener {
  void collective_started(MpiWorld::Subject /*subject*/) override {}
  void collective_ended(MpiWorld::Subject /*subject*/) override {}
};

struct TwoRanks {
  Engine world_clock;
  Silent silent;
  MpiWorld world{world_clock, 2, 1, silent};
  RankClock first{world_clock, world, 0, false};
  RankClock second{world_clock, world, 1, true};
  std::vector<std::int64_t> log;  ///< seconds of the second rank's events

  void note() { log.push_back(since_start(second.now()) / kSecond); }
  void note_at(std::int64_t second_of_run) {
    second.events().at(Time(second_of_run * kSecond), Phase::kNormal, [this] { note(); });
  }
  void call_at(RankClock& rank, std::int64_t second_of_run) {
    rank.events().at(Time(second_of_run * kSecond), Phase::kNormal, [this, &rank] {
      const bool is_logged = &rank == &second;
      rank.call(0, {0, 0}, {kSecond, kSecond},
                {[](void* self, std::uint64_t logged) {
                   if (logged == 1) static_cast<TwoRanks*>(self)->note();
                 },
                 this, is_logged ? 1U : 0U});
    });
  }
};

TEST(RankClock, RunsAheadToTheEndWhenNothingCanCome) {
  TwoRanks r;
  r.note_at(1);
  r.note_at(9);
  r.second.start();
  EXPECT_EQ(r.log, (std::vector<std::int64_t>{1, 9}));
  EXPECT_EQ(r.world_clock.now(), Time{});
}

// The second rank calls at 1 s and has events at 2, 3, 6 and 20 s; the first one calls at 4 s. A
// call takes 2 s: it may return at 3 s and does at 6 s, before the other event of that instant.
TEST(RankClock, WaitsFromTheEarliestReturnOn) {
  TwoRanks r;
  r.call_at(r.second, 1);
  for (const std::int64_t at : {2, 3, 6, 20})
    r.note_at(at);
  r.call_at(r.first, 4);
  r.second.start();
  EXPECT_EQ(r.log, (std::vector<std::int64_t>{2}));
  r.world_clock.run();
  EXPECT_EQ(r.log, (std::vector<std::int64_t>{2, 3, 6, 6, 20}));
}

}  // namespace
}  // namespace steptime
