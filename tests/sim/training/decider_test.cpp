#include "sim/training/decider.h"

#include "sim/runtime/mediums.h"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

/// Sends what is ready as one, but nothing before 10 ms, and notes what it hears.
class AllAtOnce final : public Policy {
 public:
  explicit AllAtOnce(std::vector<std::string>& notes) : notes_(notes) {}
  void ready(std::int32_t bucket, Time now) override {
    waiting_.push_back(bucket);
    notes_.push_back(fmt::format("ready {} at {}", bucket, since_start(now) / milliseconds(1)));
  }
  void arrived(std::span<const std::int32_t> buckets, Time now) override {
    notes_.push_back(
        fmt::format("arrived {} at {}", buckets.size(), since_start(now) / milliseconds(1)));
  }
  std::vector<std::int32_t> next(Time now) override {
    if (now < Time(milliseconds(10))) return {};
    return std::exchange(waiting_, {});
  }
  std::optional<Time> wake() const override {
    if (waiting_.empty()) return std::nullopt;
    return Time(milliseconds(10));
  }

 private:
  std::vector<std::string>& notes_;
  std::vector<std::int32_t> waiting_;
};

struct Scene {
  Scene() : group(world, {"group"}, 2, std::make_unique<NoMedium>(world)) {
    decider.emplace(world, group, std::make_unique<AllAtOnce>(notes), buckets);
  }
  void ready_at(std::int64_t ms, std::int32_t bucket) {
    world.engine.at(Time(milliseconds(ms)), Phase::kNormal,
                    [this, bucket] { decider->ready(bucket); });
  }
  World world;
  std::vector<std::string> notes;
  std::vector<Bucket> buckets{{.bytes = {3}}, {.bytes = {4}}};
  Group group;
  std::optional<Decider> decider;
};

TEST(Decider, APolicyHearsOfWhatAllMembersHave) {
  Scene run;
  run.ready_at(1, 0);
  run.ready_at(2, 1);
  run.ready_at(3, 0);
  run.ready_at(7, 1);
  run.world.run();
  EXPECT_EQ(run.notes, (std::vector<std::string>{"ready 0 at 3", "ready 1 at 7"}));
}

/// Expects one call of both buckets, from `start` on.
struct BothAtOnce final : Group::Watch {
  BothAtOnce(Scene& of, Time start) : run(of), starts(start) { run.group.watch(this); }
  void ended(std::int64_t call, Bytes bytes, Time start) override {
    EXPECT_EQ(call, 0);
    EXPECT_EQ(bytes, Bytes{3 + 4});
    EXPECT_EQ(start, starts);
    const std::vector<std::int32_t> list = run.decider->take(call);
    EXPECT_EQ(list, (std::vector<std::int32_t>{0, 1}));
    run.decider->arrived(list);
  }
  Scene& run;
  Time starts;
};

// At 10 ms, when the policy asked to be asked again.
TEST(Decider, WhatIsSentIsOneCallOfAllMembers) {
  Scene run;
  const BothAtOnce watch(run, Time(milliseconds(10)));
  for (const std::int32_t bucket : {0, 0, 1, 1})
    run.ready_at(2, bucket);
  run.world.run();
  EXPECT_EQ(run.notes.back(), "arrived 2 at 10");
}

// Both members have bucket 0 at 12 ms. What their own engines then decide ends work that takes no
// time, and they have bucket 1 at the same instant.
TEST(Decider, IsAskedBehindWhatMembersDecideByThemselves) {
  Scene run;
  const BothAtOnce watch(run, Time(milliseconds(12)));
  Engine& engine = run.world.engine;
  run.ready_at(12, 0);
  run.ready_at(12, 0);
  engine.at(Time(milliseconds(12)), Phase::kNormal, [&] {
    engine.at(engine.now(), Phase::kSchedule, [&] {
      engine.at(engine.now(), Phase::kComplete, [&] {
        run.decider->ready(1);
        run.decider->ready(1);
      });
    });
  });
  run.world.run();
  EXPECT_EQ(run.notes.back(), "arrived 2 at 12");
}

}  // namespace
}  // namespace steptime
