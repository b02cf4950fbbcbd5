// Are collectives matched by the order of the calls?
#include "sim/mxnet/mpi_world.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kSecond{1'000'000'000'000};

/// Every all-reduce takes a second, whatever else is in flight.
struct OneSecond final : CollectivesInFlight {
  Engine& clock;
  explicit OneSecond(Engine& engine) : clock(engine) {}
  void start(std::int32_t /*key*/, Callback done) override {
    clock.after(kSecond, Phase::kComplete, [done] { done(); });
  }
  Duration least(std::int32_t /*key*/) const override { return kSecond; }
};

struct World final : MpiWorld::Listener {
  Engine clock;
  OneSecond collectives{clock};
  MpiWorld world;
  std::vector<MpiWorld::Subject> started;
  std::vector<MpiWorld::Subject> ended;
  std::vector<std::pair<std::uint64_t, double>> returned;  ///< 10 * rank + key, when

  World(std::int32_t ranks, std::int32_t communicators)
      : world(clock, ranks, communicators, 2 * kSecond, collectives, *this) {}
  void collective_started(MpiWorld::Subject s) override { started.push_back(s); }
  void collective_ended(MpiWorld::Subject s) override { ended.push_back(s); }
  void call_at(std::int64_t second, std::int32_t rank, std::int32_t communicator,
               std::int32_t key) {
    clock.at(Time(second * kSecond), Phase::kNormal, [=, this] {
      world.call(rank, communicator, {key, 0}, clock.now(),
                 {[](void* self, std::uint64_t what) {
                    auto* w = static_cast<World*>(self);
                    w->returned.emplace_back(what, to_seconds(since_start(w->clock.now())));
                  },
                  this, static_cast<std::uint64_t>(10 * rank + key)});
    });
  }
};
using Returned = std::vector<std::pair<std::uint64_t, double>>;

// rank 0: [key 1 ------------]        The last rank to call starts it; all return together.
// rank 1:         [key 1 ----]
TEST(MpiWorld, StartsWhenAllHaveCalled) {
  World w(2, 1);
  w.call_at(0, 0, 0, 1);
  w.call_at(3, 1, 0, 1);
  w.clock.run();
  EXPECT_EQ(w.returned, (Returned{{1, 4}, {11, 4}}));
  EXPECT_TRUE(w.world.stuck().empty());
}

// Calls of several threads on one communicator: one after the other, in the order of the calls.
TEST(MpiWorld, OneCommunicatorRunsOneAtATime) {
  World w(2, 1);
  for (const std::int32_t rank : {0, 1}) {
    w.call_at(0, rank, 0, 1);
    w.call_at(0, rank, 0, 2);
  }
  w.clock.run();
  EXPECT_EQ(w.returned, (Returned{{1, 1}, {11, 1}, {2, 2}, {12, 2}}));
}

TEST(MpiWorld, CommunicatorsRunSideBySide) {
  World w(2, 2);
  for (const std::int32_t rank : {0, 1}) {
    w.call_at(0, rank, 0, 2);
    w.call_at(0, rank, 1, 1);
  }
  w.clock.run();
  EXPECT_EQ(w.returned, (Returned{{2, 1}, {12, 1}, {1, 1}, {11, 1}}));
}

// rank 0: 1, 2     rank 1: 2, 1     The first collective is for different tensors: none returns.
TEST(MpiWorld, DifferentOrdersGetStuck) {
  World w(2, 1);
  w.call_at(0, 0, 0, 1);
  w.call_at(0, 0, 0, 2);
  w.call_at(0, 1, 0, 2);
  w.call_at(0, 1, 0, 1);
  w.clock.run();
  EXPECT_TRUE(w.returned.empty());
  const auto stuck = w.world.stuck();
  ASSERT_EQ(stuck.size(), 4u);
  EXPECT_EQ(stuck[0].rank, 0);
  EXPECT_EQ(stuck[0].number, 0);
  EXPECT_EQ(stuck[0].subject.key, 1);
  EXPECT_EQ(stuck[1].rank, 1);
  EXPECT_EQ(stuck[1].subject.key, 2);
  EXPECT_EQ(w.world.called(0, 1, 1), (MpiWorld::Subject{1, 0}));
  EXPECT_EQ(w.world.called(0, 2, 1), std::nullopt);
}

// The barrier of this world takes 2 s from the last call on.
TEST(MpiWorld, ABarrierTakesItsOwnTime) {
  World w(2, 1);
  w.call_at(0, 0, 0, MpiWorld::kBarrier);
  w.call_at(2, 1, 0, MpiWorld::kBarrier);
  w.clock.run();
  EXPECT_EQ(w.returned.size(), 2u);
  EXPECT_EQ(w.returned[0].second, 4);
}

// Rank 0 calls at 2 s of its own time; rank 1, which may call from 5 s on, has not called so far.
// A collective that runs began at 5 s.
TEST(MpiWorld, KnowsHowSoonACallMayReturn) {
  World w(2, 2);
  std::uint64_t call = 0;
  w.clock.at(Time{}, Phase::kNormal, [&] {
    call = w.world.call(0, 1, {0, 0}, Time(2 * kSecond), {[](void*, std::uint64_t) {}, nullptr});
    EXPECT_EQ(w.world.returns_not_before(call), Time(3 * kSecond));
  });
  w.call_at(5, 1, 1, 0);
  while (w.clock.now() < Time(5 * kSecond))
    w.clock.step();
  EXPECT_EQ(w.world.returns_not_before(call), Time(6 * kSecond));
}

}  // namespace
}  // namespace steptime
