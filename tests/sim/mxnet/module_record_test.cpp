// Is a key under way from its first operation to its last?
#include "sim/mxnet/module_record.h"

#include "tests/support/push_pulls.h"

#include <chrono>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

/// One step of two GPUs with one key. GPU 0 computes 1 ms forward and 2 ms backward, of which the
/// gradient comes; its push and its pull are updates of 5 ms on GPU 1, one behind the other.
struct OneKey {
  TrainingGraph graph{
      .segments = {{"f", milliseconds(1), false, {0}}, {"b", milliseconds(2), true, {0}}},
      .forward_segments = 1,
      .keys = {{"w", {4}, {}}}};
  World world;
  Timeline timeline;
  RankRecord recorder{world.engine, graph, std::nullopt};
  ModuleRecord record{world.engine, graph, recorder, {{{0, 1}}, 1, &timeline}};
  NodeOps ops{pair_of_gpus(), {.updates = true, .update = milliseconds(5)}, 1};
  NodeRank process{world, ops, &record};

  /// `before_pull`: how long the main thread takes for the call.
  void play(Duration before_pull) {
    record.watch(process);
    world.start({"main thread"}, main_thread(before_pull, ops.variables(2)));
    world.run();
  }
  Task main_thread(Duration before_pull, NodeOps::Variables own) {
    process.begin_period();
    co_await process.push([&] {
      ops.set_label(record.label_of_segment(0));
      ops.compute(0, milliseconds(1), {}, {own[0]});
      ops.set_label(record.label_of_segment(1));
      ops.compute(0, milliseconds(2), {}, {own[0], ops.gradient(0, 0)});
      ops.set_label(0);
      ops.update(1, {ops.gradient(0, 0)}, own[1]);
    });
    record.said(0, 1);
    co_await process.push([&] {
      ops.call(before_pull);
      ops.update(1, {}, own[1]);
    });
    record.said(0, 1);
    record.pushed(0, 0);
  }
};

TEST(ModuleRecord, AKeyIsUnderWayUntilItsPullIsOver) {
  OneKey step;
  step.play({});
  const auto& times = step.recorder.key_times()[0];
  EXPECT_EQ(times.ready, milliseconds(3));
  EXPECT_EQ(times.start, milliseconds(3));
  EXPECT_EQ(times.end, milliseconds(13));
  EXPECT_EQ(step.record.ends(), (std::vector<Duration>{milliseconds(13)}));
  EXPECT_TRUE(step.recorder.is_complete());
}

// The push is over at 8 ms, but the pull is pushed at 20 ms only.
TEST(ModuleRecord, AKeyIsNotOverBeforeItsPullIsPushed) {
  OneKey step;
  step.play(milliseconds(20));
  EXPECT_EQ(step.recorder.key_times()[0].start, milliseconds(3));
  EXPECT_EQ(step.recorder.key_times()[0].end, milliseconds(25));
}

}  // namespace
}  // namespace steptime
