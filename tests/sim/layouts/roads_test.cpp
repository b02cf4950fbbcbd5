#include "sim/layouts/roads.h"

#include "tests/support/layouts.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// 5 ps and 2 ps a byte, from when it starts: 5 + 2 x 10 = 25.
TEST(AloneRoads, AnExchangeTakesItsClosedForm) {
  World world;
  AloneRoads roads(world);
  const LinearCollective cost(LinearCost{Duration(5), {2e-12}});
  Group group(world, {"group"}, 1, roads.medium(0, GroupKind::kTensor, cost));
  Time end{};
  const auto program = [&]() -> Task {
    co_await group.call(0, {10});
    end = world.now();
  };
  world.spawn({"rank", 0}, program());
  world.run();
  EXPECT_EQ(since_start(end).count(), 25);
  EXPECT_TRUE(roads.are_alone(0, GroupKind::kShards));
}

}  // namespace
}  // namespace steptime
