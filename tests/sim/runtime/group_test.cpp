#include "sim/runtime/group.h"

#include "sim/core/error.h"
#include "sim/runtime/mediums.h"

#include <chrono>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

/// A collective of so many bytes takes as many milliseconds.
class Milliseconds final : public Medium {
 public:
  explicit Milliseconds(World& world) : world_(world) {}
  void start(Bytes bytes, Duration longer, Callback done) override {
    world_.engine.after(milliseconds(bytes.count) + longer, Phase::kComplete, [done] { done(); });
  }

 private:
  World& world_;
};

struct Scene {
  explicit Scene(std::size_t members, std::int64_t streams = 1)
      : group(world, {"group"}, members, std::make_unique<Milliseconds>(world), streams),
        ends(members) {}
  /// The member calls after so long, for each of these sizes one call after another without a wait.
  void calls(std::size_t member, std::int64_t after, const std::vector<std::int64_t>& sizes) {
    world.spawn({"member", static_cast<std::int64_t>(member)}, program(member, after, sizes));
  }
  Task program(std::size_t member, std::int64_t after, std::vector<std::int64_t> sizes) {
    co_await world.pause(milliseconds(after), {});
    for (const std::int64_t size : sizes)
      group.launch(member, {size});
    co_await group.over(member);
    ends[member] = since_start(world.now()) / milliseconds(1);
  }

  World world;
  Group group;
  std::vector<std::int64_t> ends;  ///< ms
};

TEST(Group, ACollectiveStartsWhenTheLastMemberHasCalled) {
  Scene run(3);
  run.calls(0, 1, {10});
  run.calls(1, 5, {10});
  run.calls(2, 2, {10});
  run.world.run();
  EXPECT_EQ(run.ends, (std::vector<std::int64_t>{15, 15, 15}));
}

TEST(Group, CallsGoOneAfterAnotherOnOneStream) {
  Scene run(2);
  run.calls(0, 0, {10, 5});
  run.calls(1, 3, {10, 5});
  run.world.run();
  EXPECT_EQ(run.ends, (std::vector<std::int64_t>{18, 18}));  // 3 + 10 + 5
}

TEST(Group, SeveralStreamsCarryAsManyCalls) {
  Scene run(2, 2);
  run.calls(0, 0, {10, 5, 4});
  run.calls(1, 0, {10, 5, 4});
  run.world.run();
  EXPECT_EQ(run.ends, (std::vector<std::int64_t>{10, 10}));  // 10 beside 5 and then 4
}

TEST(Group, SaysWhoHasNotCalled) {
  Scene run(3);
  run.calls(0, 0, {10});
  run.calls(2, 0, {10});
  run.world.run();
  const auto stuck = run.world.stuck();
  ASSERT_EQ(stuck.size(), 2u);
  EXPECT_EQ(stuck[0].who, "member 0");
  EXPECT_EQ(stuck[0].why, "group: call 1 lacks members 1");
}

TEST(Group, MembersMustCallTheSame) {
  Scene run(2);
  run.calls(0, 0, {10});
  run.calls(1, 0, {11});
  EXPECT_THROW(run.world.run(), InternalError);
}

TEST(Group, AWatchSeesCallsAndMakesThemLonger) {
  struct Watch final : Group::Watch {
    Duration began(std::int64_t, Bytes) override { return milliseconds(2); }
    void ended(std::int64_t call, Bytes bytes, Time start) override {
      seen.push_back(call);
      seen.push_back(bytes.count);
      seen.push_back(since_start(start) / milliseconds(1));
    }
    std::vector<std::int64_t> seen;
  } watch;
  Scene run(1);
  run.group.watch(&watch);
  run.calls(0, 1, {10, 5});
  run.world.run();
  EXPECT_EQ(run.ends, (std::vector<std::int64_t>{20}));  // 1 + 12 + 7
  EXPECT_EQ(watch.seen, (std::vector<std::int64_t>{0, 10, 1, 1, 5, 13}));
}

}  // namespace
}  // namespace steptime
