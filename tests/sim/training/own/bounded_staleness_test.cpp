#include "tests/sim/training/own/bounded_staleness.h"

#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

std::int64_t ms(Time time) {
  return since_start(time) / milliseconds(1);
}

TEST(BoundedStaleness, HoldsTheFastBack) {
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

}  // namespace
}  // namespace steptime
