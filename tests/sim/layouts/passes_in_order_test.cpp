#include "sim/layouts/passes_in_order.h"

#include "sim/core/error.h"
#include "tests/support/layouts.h"

#include <memory>
#include <string>
#include <utility>
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

/// Two micro-batches on each rank.
class Listed final : public PipelineOrder {
 public:
  explicit Listed(std::vector<Pass> list) : list_(std::move(list)) {}
  std::int64_t passes(const PipelineShape&, std::int32_t) const override {
    return std::ssize(list_);
  }
  Pass pass(const PipelineShape&, std::int32_t, std::int64_t k) const override {
    return list_[static_cast<std::size_t>(k)];
  }

 private:
  std::vector<Pass> list_;
};

std::string fault_of(std::vector<Pass> list) {
  LayoutPlan plan = plan_of({.micro_batches = 2}, work_of_blocks(1, {1, 1, 1}));
  plan.order = std::make_shared<Listed>(std::move(list));
  try {
    passes_in_order(plan);
  } catch (const InternalError& error) {
    const std::string what = error.what();
    return what.substr(what.rfind(": ") + 2);
  }
  return "";
}

TEST(PassesInOrder, AnOrderTakesMicroBatchesInTurn) {
  using enum PassKind;
  EXPECT_EQ(fault_of({{kForward, 0}, {kForward, 1}, {kBackward, 0}, {kBackward, 1}}), "");
  EXPECT_EQ(fault_of({{kForward, 0},
                      {kForward, 1},
                      {kInputGradient, 0},
                      {kInputGradient, 1},
                      {kWeightGradient, 0},
                      {kWeightGradient, 1}}),
            "");
  // The last one first, as GPipe is drawn: what comes is counted, and would be taken for the other.
  EXPECT_EQ(
      fault_of({{kForward, 0}, {kForward, 1}, {kBackward, 1}, {kBackward, 0}}),
      "pass 2 of place 0 in the pipeline is backward of micro-batch 1 in chunk 0, out of turn");
  EXPECT_EQ(
      fault_of({{kForward, 0}, {kInputGradient, 0}, {kWeightGradient, 1}}),
      "pass 2 of place 0 in the pipeline is weight gradients of micro-batch 1 in chunk 0, out "
      "of turn");
  EXPECT_EQ(
      fault_of({{kForward, 0, 1}}),
      "pass 0 of place 0 in the pipeline is forward of micro-batch 0 in chunk 1, out of turn");
}

}  // namespace
}  // namespace steptime
