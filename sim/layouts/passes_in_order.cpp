#include "sim/layouts/passes_in_order.h"

#include "sim/core/error.h"
#include "sim/layouts/rank_drawing.h"

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

/// Whether the passes of each kind take the micro-batches of a chunk in turn, as what comes to a
/// rank is counted: another would be taken for the one that is due.
class Turns {
 public:
  explicit Turns(std::int32_t chunks) : next_(static_cast<std::size_t>(chunks)) {}

  bool takes(const Pass& pass) {
    if (pass.chunk < 0 || pass.chunk >= std::ssize(next_)) return false;
    auto& [forward, inputs, weights] = next_[static_cast<std::size_t>(pass.chunk)];
    switch (pass.kind) {
      case PassKind::kForward:
        return pass.micro_batch == forward++;
      case PassKind::kBackward:
        return pass.micro_batch == inputs++ && pass.micro_batch == weights++;
      case PassKind::kInputGradient:
        return pass.micro_batch == inputs++;
      case PassKind::kWeightGradient:
        return pass.micro_batch == weights++;
    }
    return false;
  }

 private:
  /// Of each chunk's next pass: forward, inputs' gradients, weights' gradients.
  std::vector<std::array<std::int32_t, 3>> next_;
};

}  // namespace

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
  known.order = nullptr;  // not yet, or never, if this throws
  known.passes.resize(static_cast<std::size_t>(shape.ranks));
  for (std::int32_t place = 0; place < shape.ranks; ++place) {
    const std::int64_t count = plan.order->passes(shape, place);
    std::vector<Pass>& passes = known.passes[static_cast<std::size_t>(place)];
    passes.clear();
    passes.reserve(static_cast<std::size_t>(count));
    Turns turns(plan.order->chunks());
    for (std::int64_t k = 0; k < count; ++k) {
      const Pass pass = plan.order->pass(shape, place, k);
      STEPTIME_CHECK(turns.takes(pass),
                     fmt::format("pass {} of place {} in the pipeline is {} of micro-batch {} in "
                                 "chunk {}, out of turn",
                                 k, place, name_of(pass.kind), pass.micro_batch, pass.chunk));
      passes.push_back(pass);
    }
  }
  known.order = plan.order;
  known.shape = shape;
  return known.passes;
}

StepPasses::StepPasses(const LayoutPlan& plan) : order(passes_in_order(plan)) {
  for (std::int32_t place = 0; place < plan.layout.pipeline(); ++place)
    chunks.push_back(passes_of(plan, place, order[static_cast<std::size_t>(place)]));
}

}  // namespace steptime
