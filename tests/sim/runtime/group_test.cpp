#include "sim/runtime/group.h"

#include "sim/core/error.h"
#include "sim/runtime/mediums.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

/// A collective of so many bytes takes as many milliseconds.
class Milliseconds final : public Medium {
 public:
  explicit Milliseconds(World& world) : world_(world) {}
  void start(Bytes bytes, Callback done) override {
    world_.engine.after(milliseconds(bytes.count), Phase::kComplete, [done] { done(); });
  }
  Duration least(Bytes bytes) const override { return milliseconds(bytes.count); }

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

// Worker 0 adds up in its tensor group and then in its data group, worker 1 the other way round: a
// deadlock of NCCL's and MPI's users, in the second of three steps.
TEST(Group, ProgramsThatCallInOppositeOrdersAreTold) {
  World world;
  Group tensor(world, {"tensor group", 3}, 2, std::make_unique<Milliseconds>(world));
  Group data(world, {"data group"}, 2, std::make_unique<Milliseconds>(world));
  const auto trains = [&world, &tensor, &data](std::size_t me) -> Task {
    for (int step = 0; step < 3; ++step) {
      co_await world.pause(milliseconds(10), {});
      const bool other_order = step == 1 && me == 1;
      co_await (other_order ? data : tensor).call(me, {2});
      co_await (other_order ? tensor : data).call(me, {5});
    }
  };
  world.spawn({"worker", 0}, trains(0));
  world.spawn({"worker", 1}, trains(1));
  world.run();
  try {
    world.expect_over();
    FAIL();
  } catch (const ModelFailure& e) {
    EXPECT_STREQ(e.what(),  // a step takes 10 + 2 + 5 ms
                 "deadlock after 0.027 s: nothing happens any more, but\n"
                 "  worker 0 waits for tensor group 3: call 2 lacks members 1\n"
                 "  worker 1 waits for data group: call 2 lacks members 0");
  }
}

TEST(Group, MembersMustCallTheSame) {
  Scene run(2);
  run.calls(0, 0, {10});
  run.calls(1, 0, {11});
  EXPECT_THROW(run.world.run(), InternalError);
}

TEST(Group, AWatchSeesCalls) {
  struct Watch final : Group::Watch {
    void began(std::int64_t call, Bytes bytes) override {
      seen.push_back(call);
      seen.push_back(-bytes.count);
    }
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
  EXPECT_EQ(run.ends, (std::vector<std::int64_t>{16}));  // 1 + 10 + 5
  // The second one begins when the first has left the stream, which is told behind that.
  EXPECT_EQ(watch.seen, (std::vector<std::int64_t>{0, -10, 1, -5, 0, 10, 1, 1, 5, 11}));
}

// rank 0: 1, 2     rank 1: 2, 1     The first collective is for different things: none is over.
TEST(Group, CallsForDifferentThingsNeverStart) {
  Scene run(2);
  for (const auto& [member, number] : {std::pair(0, 1), {0, 2}, {1, 2}, {1, 1}})
    run.group.launch(static_cast<std::size_t>(member), {{10}, number}, run.world.now(), {});
  run.world.run();
  EXPECT_EQ(run.world.now(), Time{});
  const auto open = run.group.open();
  ASSERT_EQ(open.size(), 4U);
  EXPECT_EQ(open[0].member, 0U);
  EXPECT_EQ(open[0].call, 0);
  EXPECT_EQ(open[0].subject.number, 1);
  EXPECT_EQ(open[1].member, 1U);
  EXPECT_EQ(open[1].subject.number, 2);
  EXPECT_EQ(run.group.called(1, 1), (Group::Subject{{10}, 1}));
  EXPECT_EQ(run.group.called(2, 1), std::nullopt);
}

// Member 0 calls at 2 ms of its own time, ahead of the clock; member 1, which may call from 5 ms
// on, has not called so far. What runs began at 5 ms, and takes 10 ms; all hear of its end.
TEST(Group, KnowsHowSoonACallMayReturn) {
  Scene run(2);
  std::vector<std::int64_t> returned;
  const Callback returns{
      [](void* list, std::uint64_t member) {
        static_cast<std::vector<std::int64_t>*>(list)->push_back(static_cast<std::int64_t>(member));
      },
      &returned, 7};
  const auto call = run.group.launch(0, {{10}}, Time(milliseconds(2)), returns);
  EXPECT_EQ(run.group.returns_not_before(call), Time(milliseconds(12)));
  run.world.engine.at(Time(milliseconds(4)), Phase::kNormal, [&] {
    run.group.launch(1, {{10}}, Time(milliseconds(5)), returns);
    EXPECT_EQ(run.group.returns_not_before(call), Time(milliseconds(15)));
    EXPECT_TRUE(returned.empty());
  });
  run.world.run();
  EXPECT_EQ(run.world.now(), Time(milliseconds(15)));
  EXPECT_EQ(returned, (std::vector<std::int64_t>{7, 7}));
  EXPECT_TRUE(run.group.open().empty());
}

}  // namespace
}  // namespace steptime
