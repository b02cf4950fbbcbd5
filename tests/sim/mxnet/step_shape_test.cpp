// Are the uses of a variable linked in the order of the pushes?
#include "sim/mxnet/step_shape.h"

#include "sim/core/error.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Variables = std::vector<StepShape::Variable>;

TEST(StepShape, LinksTheUsesOfAVariable) {
  StepShape shape;
  const auto pool = shape.add_pool(3, PoolOrder::kPriority);
  const auto x = shape.add_variable();
  const auto y = shape.add_variable();
  shape.add(7, pool, -2, Variables{x}, Variables{y});
  shape.add(8, pool, 0, {}, Variables{x});

  EXPECT_EQ(shape.pools()[pool].threads, 3);
  EXPECT_EQ(shape.variables(), 2u);
  ASSERT_EQ(shape.operations(), 2u);
  EXPECT_EQ(shape.operation(0).label, 7u);
  EXPECT_EQ(shape.operation(0).priority, -2);
  EXPECT_EQ(shape.uses(shape.operation(0)).size(), 2u);

  const auto first = shape.operation(0).first_use;
  EXPECT_EQ(shape.use(first).variable, x);
  EXPECT_FALSE(shape.use(first).writes);
  const StepShape::Use& second = shape.use(shape.use(first).next);
  EXPECT_EQ(second.operation, 1u);
  EXPECT_TRUE(second.writes);
  EXPECT_EQ(second.next, first | StepShape::kNextStep);
  EXPECT_EQ(shape.use(first + 1).next, (first + 1) | StepShape::kNextStep) << "y has one use";
}

TEST(StepShape, APoolWithoutPrioritiesHasNone) {
  StepShape shape;
  const auto pool = shape.add_pool(1, PoolOrder::kFifo);
  shape.add(0, pool, -2, {}, {});
  EXPECT_EQ(shape.operation(0).priority, 0);
}

TEST(StepShape, AVariableNamedTwiceIsAnError) {
  for (const bool writes : {false, true}) {
    StepShape shape;
    const auto pool = shape.add_pool(1, PoolOrder::kFifo);
    const auto x = shape.add_variable();
    shape.add(0, pool, 0, Variables{x}, {});
    try {
      shape.add(1, pool, 0, writes ? Variables{} : Variables{x},
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
