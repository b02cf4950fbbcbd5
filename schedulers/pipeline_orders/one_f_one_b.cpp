// 1F1B, PipeDream-flush: a rank works ahead by as many forward passes as there are ranks behind it,
// then alternates.
//
// Each send is awaited, as send_forward_recv_backward and its like do.
//
// Makespan (m + p - 1)(F + B) with m micro-batches on p ranks, of which rank r holds min(p - r, m).
// Source: Narayanan et al., 2006.09503 section 2.2; Megatron-LM schedules.py
// forward_backward_pipelining_without_interleaving.
#include "sim/layouts/pipeline_order.h"

#include <algorithm>
#include <memory>

namespace steptime {
namespace {

class OneForwardOneBackward final : public PipelineOrder {
 public:
  std::int64_t passes(const PipelineShape& shape, std::int32_t) const override {
    return 2 * std::int64_t{shape.micro_batches};
  }
  Pass pass(const PipelineShape& shape, std::int32_t rank, std::int64_t k) const override {
    const auto number = static_cast<std::int32_t>(k);
    const std::int32_t ahead = std::min(shape.ranks - rank - 1, shape.micro_batches);
    if (number < ahead) return awaited(PassKind::kForward, number);
    const std::int32_t pairs = shape.micro_batches - ahead;
    const std::int32_t behind = number - ahead;
    if (behind >= 2 * pairs) return awaited(PassKind::kBackward, behind - pairs);
    if (behind % 2 == 0) return awaited(PassKind::kForward, ahead + behind / 2);
    return awaited(PassKind::kBackward, behind / 2);
  }

 private:
  static Pass awaited(PassKind kind, std::int32_t micro_batch) {
    return {.kind = kind, .micro_batch = micro_batch, .awaits_send = true};
  }
};

const bool kRegistered =
    PipelineOrders::instance().add(
        "1f1b", "forward and backward passes in turn, as soon as there are both", {},
        [](const Config&) { return std::make_unique<OneForwardOneBackward>(); }) &&
    PipelineOrders::instance().set_default("1f1b");

}  // namespace
}  // namespace steptime
