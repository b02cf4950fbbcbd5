#include "tests/sim/training/own/gossip.h"

#include <chrono>
#include <cstdint>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

std::int64_t ms(Time time) {
  return since_start(time) / milliseconds(1);
}

TEST(Gossip, TakesNoLongerThanOneMeetingAfterAnother) {
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

}  // namespace
}  // namespace steptime
