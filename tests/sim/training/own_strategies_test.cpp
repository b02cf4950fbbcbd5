// Strategies that are not shipped, each as a program of its own on World, groups and counters: what
// somebody writes who wants to know how long another way to train would take.
#include "sim/core/random.h"
#include "sim/runtime/group.h"
#include "sim/runtime/mediums.h"
#include "sim/runtime/waits.h"
#include "sim/runtime/world.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

std::int64_t ms(Time time) {
  return since_start(time) / milliseconds(1);
}

// ---- gossip averaging: a worker averages its parameters with a random neighbour's
// -----------------

struct Gossip {
  Gossip(World& w, int workers, Duration computes, Duration averages)
      : world(w), compute(computes), average(averages) {
    for (int i = 0; i < workers; ++i)
      free.emplace_back(w, Name{"parameters of worker", i}, 1);
  }
  /// Which of its two neighbours on the ring it meets.
  std::size_t neighbour(std::size_t me, std::uint32_t step) const {
    const RandomStream random(1, Purpose::kPullOrder);
    const bool left = random.uniform(static_cast<std::uint32_t>(me), step, 0) < 0.5;
    return (me + (left ? free.size() - 1 : 1)) % free.size();
  }
  Task worker(std::size_t me, std::uint32_t steps) {
    for (std::uint32_t step = 0; step < steps; ++step) {
      co_await world.pause(compute, {});
      const std::size_t other = neighbour(me, step);
      co_await free[std::min(me, other)].acquire();  // both, in one order: nobody waits in a circle
      co_await free[std::max(me, other)].acquire();
      co_await world.pause(average, {});
      free[me].release();
      free[other].release();
      ++meetings;
    }
  }
  World& world;
  Duration compute;
  Duration average;
  std::deque<Pool> free;
  int meetings = 0;
};

TEST(OwnStrategies, GossipTakesNoLongerThanOneMeetingAfterAnother) {
  World world;
  Gossip gossip(world, 8, milliseconds(10), milliseconds(3));
  for (std::size_t me = 0; me < 8; ++me)
    world.spawn({"worker", static_cast<std::int64_t>(me)}, gossip.worker(me, 5));
  world.run();
  world.expect_over();
  EXPECT_EQ(gossip.meetings, 8 * 5);
  // At least what a worker does by itself; at most that and all meetings one after another.
  EXPECT_GE(ms(world.now()), 5 * (10 + 3));
  EXPECT_LE(ms(world.now()), 5 * 10 + 8 * 5 * 3);
}

// ---- asynchronous workers, of which none is more than so many steps ahead of the slowest
// ----------

struct Bounded {
  Bounded(World& w, std::vector<Duration> of_steps, std::int64_t most)
      : world(w), lengths(std::move(of_steps)), bound(most), slowest(w, {"steps of the slowest"}) {
    done.resize(lengths.size());
  }
  Task worker(std::size_t me, std::int64_t steps) {
    for (std::int64_t step = 0; step < steps; ++step) {
      co_await slowest.at_least(step - bound);
      co_await world.pause(lengths[me], {});
      ++done[me];
      ahead = std::max(ahead, done[me] - *std::ranges::min_element(done));
      slowest.add(*std::ranges::min_element(done) - slowest.value());
    }
  }
  World& world;
  std::vector<Duration> lengths;
  std::int64_t bound;
  Counter slowest;
  std::vector<std::int64_t> done;
  std::int64_t ahead = 0;
};

TEST(OwnStrategies, ABoundOnStalenessHoldsTheFastBack) {
  // The slow worker takes 40 ms a step, the other one 10: with a bound of 2 it has done steps 0 to
  // 2 at 30 ms, and each of the others begins when the slow one has ended the one two before.
  World world;
  Bounded run(world, {milliseconds(40), milliseconds(10)}, 2);
  Time end{};
  const auto fast = [](Bounded& bounded, Time& over) -> Task {
    co_await bounded.worker(1, 6);
    over = bounded.world.now();
  };
  world.spawn({"slow"}, run.worker(0, 6));
  world.spawn({"fast"}, fast(run, end));
  world.run();
  world.expect_over();
  EXPECT_EQ(run.ahead, 3);          // two, and the one that it has just ended
  EXPECT_EQ(ms(end), 3 * 40 + 10);  // its sixth step begins behind the slow one's third
}

// ---- a pipeline of stages, one forward and one backward (1F1B), with tensor and data groups
// --------

/// What the stages of one pipeline share. Each stage is `tensor` ranks, of which one program
/// speaks.
struct Pipeline {
  Pipeline(World& w, int stages, Group& data_group) : world(w), data(data_group), memories(stages) {
    for (int s = 0; s <= stages; ++s) {
      activations.emplace_back(w, Name{"activations for stage", s});
      gradients.emplace_back(w, Name{"gradients for stage", s - 1});
    }
  }
  Task forward(std::size_t stage, int micro_batch) {
    if (stage > 0) co_await activations[stage].at_least(micro_batch + 1);
    memories[stage].acquire(1);
    co_await world.pause(milliseconds(1), {});
    activations[stage + 1].add();
  }
  Task backward(std::size_t stage, int micro_batch) {
    if (stage + 1 < memories.size()) co_await gradients[stage + 1].at_least(micro_batch + 1);
    co_await world.pause(milliseconds(2), {});
    memories[stage].release(1);
    gradients[stage].add();
  }
  /// Megatron-LM megatron/core/pipeline_parallel/schedules.py,
  /// forward_backward_pipelining_without_interleaving.
  Task rank(std::size_t stage, std::size_t member, int micro_batches) {
    const int warm_up = std::min(micro_batches, static_cast<int>(memories.size() - 1 - stage));
    for (int f = 0; f < warm_up; ++f)
      co_await forward(stage, f);
    for (int f = warm_up; f < micro_batches; ++f) {
      co_await forward(stage, f);
      co_await backward(stage, f - warm_up);
    }
    for (int b = micro_batches - warm_up; b < micro_batches; ++b)
      co_await backward(stage, b);
    computed = std::max(computed, world.now());
    co_await data.call(member, {1000});  // gradients are all-reduced among the replicas
  }
  World& world;
  Group& data;
  std::vector<Memory> memories;     ///< activations of micro-batches that a stage keeps
  std::deque<Counter> activations;  ///< that have come to a stage
  std::deque<Counter> gradients;    ///< to a stage from the one behind it
  Time computed{};
};

struct Makespan {
  int stages;
  int micro_batches;
  std::int64_t ms;
};

class OneForwardOneBackward : public testing::TestWithParam<Makespan> {};

TEST_P(OneForwardOneBackward, TakesWorkAndTheBubble) {
  // (m + p - 1) (F + B) with F = 1 ms and B = 2 ms (Narayanan et al., SC21, section 2.2.1).
  const auto [stages, micro_batches, length] = GetParam();
  World world;
  const auto replicas = static_cast<std::size_t>(2);
  Group data(world, {"data"}, replicas * static_cast<std::size_t>(stages),
             std::make_unique<NoMedium>(world));
  std::deque<Pipeline> pipelines;
  for (std::size_t d = 0; d < replicas; ++d) {
    Pipeline& pipeline = pipelines.emplace_back(world, stages, data);
    for (std::size_t s = 0; s < static_cast<std::size_t>(stages); ++s)
      world.spawn({"stage", static_cast<std::int64_t>(s), "replica", static_cast<std::int64_t>(d)},
                  pipeline.rank(s, d * static_cast<std::size_t>(stages) + s, micro_batches));
  }
  world.run();
  world.expect_over();
  for (const Pipeline& pipeline : pipelines) {
    EXPECT_EQ(ms(pipeline.computed), length);
    for (std::size_t s = 0; s < pipeline.memories.size(); ++s) {
      // Stage s keeps the activations of p - s micro-batches at most.
      EXPECT_EQ(pipeline.memories[s].peak(),
                std::min<std::int64_t>(micro_batches, stages - static_cast<int>(s)));
      EXPECT_EQ(pipeline.memories[s].held(), 0);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Sizes, OneForwardOneBackward,
                         testing::Values(Makespan{4, 8, 33}, Makespan{8, 8, 45},
                                         Makespan{8, 32, 117}));

}  // namespace
}  // namespace steptime
