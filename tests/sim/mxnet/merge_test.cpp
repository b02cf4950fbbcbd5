#include "sim/mxnet/merge.h"

#include "tests/support/push_pulls.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Merge, AKeyAloneCostsWhatItsOperationsDo) {
  // Two GPUs: up 1 us + 1 ns/B, a sum, and down the same; two copies of a GPU to itself along a
  // tree, which read and write, but only one after the other on the root's way.
  const auto sharding = Shardings::instance().make_default("greedy");
  const Cluster cluster = pair_of_gpus(0.3e-9);
  const auto cost = [&](const char* name) {
    return cost_of_one_key(*Merges::instance().make_default(name, cluster), cluster, *sharding);
  };
  EXPECT_EQ(cost("device").a, std::chrono::microseconds(2));
  EXPECT_NEAR(cost("device").b.seconds_per_byte, 2e-9 + 0.3e-9, 1e-15);
  EXPECT_NEAR(cost("tree").b.seconds_per_byte, 2e-9 + 0.3e-9 + 2 * 0.2e-9, 1e-15);
}

}  // namespace
}  // namespace steptime
