// Are as many steps played as are asked for, and when do they end?
#include "sim/mxnet/client_steps.h"

#include "sim/runtime/world.h"

#include <chrono>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::seconds;

// Two ranks end operations of step 0 at 1 and 3 s, of step 1 at 2 and 5 s.
TEST(FirstSteps, EndWithTheLastOperationOfAnyRank) {
  World world;
  FirstSteps steps(world.engine, 2);
  EXPECT_TRUE(steps.wants_step(1));
  EXPECT_FALSE(steps.wants_step(2));
  const auto end_at = [&](int at, std::int32_t rank, std::int64_t step) {
    world.engine.at(When(Time(seconds(at))), Phase::kNormal,
                    [&steps, rank, step] { steps.operation_ended(rank, step); });
  };
  end_at(1, 0, 0);
  end_at(2, 0, 1);
  end_at(3, 1, 0);
  end_at(5, 1, 1);
  world.run();
  EXPECT_EQ(steps.ends(), (std::vector<Duration>{seconds(3), seconds(5)}));
  EXPECT_EQ(steps.store(), nullptr);
  EXPECT_TRUE(steps.counts(0));
}

}  // namespace
}  // namespace steptime
