#include "sim/experiment/runs/one_step.h"
#include "tests/support/training.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(AllReduce, IsOneClientWithoutServers) {
  const Experiment e = training_experiment(strategy(kRing, kSgd), 4);
  EXPECT_EQ(e.aggregation->clients, 1);
  EXPECT_EQ(e.aggregation->servers.count, 0);
  // Ring of 4 over 4 MB: 6 ms + 6/4 * 4 ms.
  EXPECT_EQ(e.collective->time(Bytes{4000000}), std::chrono::milliseconds(12));
  EXPECT_TRUE(is_one_step(e));
}

}  // namespace
}  // namespace steptime
