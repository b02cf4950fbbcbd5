#include "sim/mxnet/node_ops.h"

#include "tests/support/push_pulls.h"

#include <chrono>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(NodeOps, NamesTheKeyOfAVariable) {
  NodeOps ops(pair_of_gpus(), {}, 3);
  EXPECT_EQ(ops.key_of(ops.gradient(2, 1)), 2U);
  EXPECT_EQ(ops.key_of(ops.weight(0, 1)), 0U);
  EXPECT_EQ(ops.key_of(ops.variable()), 3U);
}

// A call of 45 us goes before the first operation that is said behind it, each of which takes 2 us
// to push; the second step of a period is number 1.
TEST(NodeOps, SaysWhatTheMainThreadNeedsForEach) {
  using std::chrono::microseconds;
  NodeOps ops(pair_of_gpus(), {.engine_push = microseconds(2)}, 1);
  ops.call(microseconds(45));
  ops.compute(0, microseconds(100), {}, {ops.variable()});
  ops.begin_step();
  ops.wait({ops.variable()});
  ASSERT_EQ(ops.operations(), 2U);
  EXPECT_EQ(ops.operation(0).call, microseconds(47));
  EXPECT_EQ(ops.operation(1).call, microseconds(2));
  EXPECT_EQ(ops.operation(1).step, 1);
  EXPECT_EQ(ops.steps(), 2);
}

}  // namespace
}  // namespace steptime
