#include "sim/layouts/passes_in_order.h"

#include "tests/support/layouts.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(PassesInOrder, AreThoseOfEachPlaceForThePlanThatIsAskedFor) {
  for (const std::int32_t micro_batches : {3, 5, 3}) {
    const LayoutPlan plan = plan_of({.degrees = {1, 1, 1, 2}, .micro_batches = micro_batches},
                                    work_of_blocks(2, {1, 1, 1}));
    const std::vector<std::vector<Pass>>& passes = passes_in_order(plan);
    ASSERT_EQ(passes.size(), 2u);
    for (std::int32_t place = 0; place < 2; ++place) {
      const std::vector<Pass>& of = passes[static_cast<std::size_t>(place)];
      ASSERT_EQ(std::ssize(of), 2 * micro_batches);
      for (std::int64_t k = 0; k < std::ssize(of); ++k)
        EXPECT_EQ(of[static_cast<std::size_t>(k)], plan.order->pass(plan.shape(), place, k));
    }
  }
}

}  // namespace
}  // namespace steptime
