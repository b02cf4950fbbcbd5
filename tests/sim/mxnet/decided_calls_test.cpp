// When do calls return whose messages a policy decides on?
//
// Two ranks, key 0 of 3 bytes and key 1 of 4; a message takes 1 ms for a byte. Bucket 0 is key 1:
// gradients come from the last layer to the first.
#include "sim/mxnet/decided_calls.h"

#include "netmodels/programs.h"
#include "sim/runtime/mediums.h"
#include "sim/step/cycles.h"

#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

/// Sends all that is ready as one message.
class Together final : public Policy {
 public:
  void ready(std::int32_t bucket, Time) override { waiting_.push_back(bucket); }
  void arrived(std::span<const std::int32_t>, Time) override {}
  std::vector<std::int32_t> next(Time) override { return std::exchange(waiting_, {}); }

 private:
  std::vector<std::int32_t> waiting_;
};

struct Scene final : CallListener {
  explicit Scene(std::unique_ptr<Policy> policy)
      : calls(world, std::move(policy), buckets,
              std::make_unique<AloneMedium>(
                  world, cost, [this](Bytes bytes) { return cost.time(bytes); }, nullptr),
              2, *this) {}

  void collective_started(CallSubject of) override { started.emplace_back(of.key, ms()); }
  void collective_ended(CallSubject of) override { ended.emplace_back(of.key, ms()); }

  /// A rank's call at an instant, made so much before it.
  void call_at(std::int64_t at, std::int32_t rank, std::int32_t key, std::int64_t ahead = 0) {
    world.engine.at(Time(milliseconds(at - ahead)), Phase::kNormal, [this, at, rank, key] {
      const Callback returns{[](void* self, std::uint64_t of) {
                               auto* scene = static_cast<Scene*>(self);
                               scene->returned[{of / 2, of % 2}] = scene->ms();
                             },
                             this, static_cast<std::uint64_t>(2 * rank + key)};
      calls.call(rank, {key, 0}, When(Time(milliseconds(at))), returns);
    });
  }
  std::int64_t ms() const { return since_start(world.now()) / milliseconds(1); }

  World world;
  LinearCollective cost{{{}, {1e-3}}};
  std::vector<Bucket> buckets{{.bytes = {4}}, {.bytes = {3}}};
  DecidedCalls calls;
  std::vector<std::pair<std::int32_t, std::int64_t>> started;  ///< key, ms
  std::vector<std::pair<std::int32_t, std::int64_t>> ended;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::int64_t> returned;  ///< (rank, key) to ms
};

// Rank 0 calls for key 0 first, rank 1 for key 1. All have called for key 1 at 2 ms: until 6 ms.
// For key 0 that is 5 ms; its message follows, until 9 ms.
TEST(DecidedCalls, MayComeInAnyOrder) {
  Scene run(std::make_unique<InOrder>());
  run.call_at(1, 0, 0);
  run.call_at(2, 0, 1);
  run.call_at(1, 1, 1);
  run.call_at(5, 1, 0);
  run.world.run();
  run.calls.expect_over();
  EXPECT_EQ(run.started, (decltype(run.started){{1, 2}, {0, 6}}));
  EXPECT_EQ(run.ended, (decltype(run.ended){{1, 6}, {0, 9}}));
  EXPECT_EQ(run.returned,
            (decltype(run.returned){{{0, 0}, 9}, {{0, 1}, 6}, {{1, 0}, 9}, {{1, 1}, 6}}));
  EXPECT_TRUE(run.calls.stuck().empty());
}

// 3 + 4 bytes from 2 ms on: both return at 9 ms.
TEST(DecidedCalls, ReturnWithTheMessageThatCarriesTheirKey) {
  Scene run(std::make_unique<Together>());
  for (const std::int32_t rank : {0, 1}) {
    run.call_at(2, rank, 0);
    run.call_at(2, rank, 1);
  }
  run.world.run();
  EXPECT_EQ(run.started, (decltype(run.started){{0, 2}, {1, 2}}));
  EXPECT_EQ(run.returned,
            (decltype(run.returned){{{0, 0}, 9}, {{0, 1}, 9}, {{1, 0}, 9}, {{1, 1}, 9}}));
}

// A rank that runs ahead has said at 1 ms that it calls at 5 ms.
TEST(DecidedCalls, CountFromWhenTheyAreMade) {
  Scene run(std::make_unique<InOrder>());
  run.call_at(5, 0, 0, 4);
  run.call_at(3, 1, 0);
  run.world.engine.at(Time(milliseconds(4)), Phase::kNormal,
                      [&] { EXPECT_EQ(run.calls.returns_not_before(0), Time(milliseconds(5))); });
  run.world.run();
  EXPECT_EQ(run.started, (decltype(run.started){{0, 5}}));
  EXPECT_EQ(run.returned, (decltype(run.returned){{{0, 0}, 8}, {{1, 0}, 8}}));
}

TEST(DecidedCalls, NameThoseThatDoNotReturn) {
  Scene run(std::make_unique<InOrder>());
  run.call_at(1, 1, 0);
  run.world.run();
  const std::vector<StuckCall> stuck = run.calls.stuck();
  ASSERT_EQ(stuck.size(), 1U);
  EXPECT_EQ(stuck[0].rank, 1);
  EXPECT_EQ(stuck[0].subject, (CallSubject{0, 0}));
}

}  // namespace
}  // namespace steptime
