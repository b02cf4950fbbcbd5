#include "sim/layouts/passes_in_order.h"

#include <cstdint>
#include <memory>

namespace steptime {

const std::vector<std::vector<Pass>>& passes_in_order(const LayoutPlan& plan) {
  struct Known {
    std::shared_ptr<const PipelineOrder> order;
    PipelineShape shape;
    std::vector<std::vector<Pass>> passes;
  };
  thread_local Known known;
  const PipelineShape shape = plan.shape();
  if (known.order == plan.order && known.shape.ranks == shape.ranks &&
      known.shape.micro_batches == shape.micro_batches)
    return known.passes;
  known = {plan.order, shape, {}};
  for (std::int32_t place = 0; place < shape.ranks; ++place) {
    const std::int64_t count = plan.order->passes(shape, place);
    std::vector<Pass>& passes = known.passes.emplace_back();
    passes.reserve(static_cast<std::size_t>(count));
    for (std::int64_t k = 0; k < count; ++k)
      passes.push_back(plan.order->pass(shape, place, k));
  }
  return known.passes;
}

}  // namespace steptime
