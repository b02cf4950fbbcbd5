// GPipe: all forward passes, then all backward passes.
//
// Makespan (m + p - 1)(F + B) with m micro-batches on p ranks; m of them are held.
// Source: Huang et al., 1811.06965 section 2.3.
#include "sim/layouts/pipeline_order.h"

#include <memory>

namespace steptime {
namespace {

class GPipe final : public PipelineOrder {
 public:
  std::int64_t passes(const PipelineShape& shape, std::int32_t) const override {
    return 2 * std::int64_t{shape.micro_batches};
  }
  Pass pass(const PipelineShape& shape, std::int32_t, std::int64_t k) const override {
    const auto number = static_cast<std::int32_t>(k);
    if (number < shape.micro_batches) return {PassKind::kForward, number};
    return {PassKind::kBackward, number - shape.micro_batches};
  }
};

const bool kRegistered =
    PipelineOrders::instance().add("gpipe", "all forward passes, then all backward passes", {},
                                   [](const Config&) { return std::make_unique<GPipe>(); });

}  // namespace
}  // namespace steptime
