// Are the uses of a variable linked in the order of the pushes?
#include "sim/mxnet/ops.h"

#include "sim/core/error.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Variables = std::vector<Ops::Variable>;

TEST(Ops, LinksTheUsesOfAVariable) {
  Ops ops;
  const auto pool = ops.add_pool(3, PoolOrder::kPriority);
  const auto x = ops.add_variable();
  const auto y = ops.add_variable();
  ops.add(7, pool, -2, Variables{x}, Variables{y});
  ops.add(8, pool, 0, {}, Variables{x});

  EXPECT_EQ(ops.pools()[pool].threads, 3);
  EXPECT_EQ(ops.variables(), 2u);
  ASSERT_EQ(ops.operations(), 2u);
  EXPECT_EQ(ops.operation(0).label, 7u);
  EXPECT_EQ(ops.operation(0).priority, -2);
  EXPECT_EQ(ops.uses(ops.operation(0)).size(), 2u);

  const auto first = ops.operation(0).first_use;
  EXPECT_EQ(ops.use(first).variable, x);
  EXPECT_FALSE(ops.use(first).writes);
  const Ops::Use& second = ops.use(ops.use(first).next);
  EXPECT_EQ(second.operation, 1u);
  EXPECT_TRUE(second.writes);
  EXPECT_EQ(second.next, first | Ops::kNextStep);
  EXPECT_EQ(ops.use(first + 1).next, (first + 1) | Ops::kNextStep) << "y has one use";
}

TEST(Ops, APoolWithoutPrioritiesHasNone) {
  Ops ops;
  const auto pool = ops.add_pool(1, PoolOrder::kFifo);
  ops.add(0, pool, -2, {}, {});
  EXPECT_EQ(ops.operation(0).priority, 0);
}

TEST(Ops, AVariableNamedTwiceIsAnError) {
  for (const bool writes : {false, true}) {
    Ops ops;
    const auto pool = ops.add_pool(1, PoolOrder::kFifo);
    const auto x = ops.add_variable();
    ops.add(0, pool, 0, Variables{x}, {});
    try {
      ops.add(1, pool, 0, writes ? Variables{} : Variables{x},
              writes ? Variables{x, x} : Variables{x});
      FAIL();
    } catch (const InternalError& e) {
      EXPECT_NE(std::string(e.what()).find("an operation names variable 0 twice"),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace steptime
