// ZB-H1: the backward pass is cut into the inputs' gradients, which the stage before waits for, and
// the weights', which fill what would be idle. Each rank holds p micro-batches until their weights'
// gradients are made, as many as the first rank of 1F1B.
//
// Rank r of p: p - r - 1 forward passes; then of each micro-batch a forward pass, while there are
// any, the inputs' gradients, and the weights' gradients of the micro-batch r before; then those
// that are left. Makespan m (F + I + W) + (p - 1)(F + I - W) where m >= p, W <= F and W <= I.
// Source: Qi et al., 2401.10241 section 2.3; sail-sg/zero-bubble-pipeline-parallelism.
#include "sim/layouts/pipeline_order.h"

#include <algorithm>
#include <memory>

namespace steptime {
namespace {

class ZeroBubbleH1 final : public PipelineOrder {
 public:
  bool splits_backward() const override { return true; }

  std::int64_t passes(const PipelineShape& shape, std::int32_t) const override {
    return 3 * std::int64_t{shape.micro_batches};
  }

  Pass pass(const PipelineShape& shape, std::int32_t rank, std::int64_t k) const override {
    const std::int32_t m = shape.micro_batches;
    const std::int32_t ahead = std::min(shape.ranks - rank - 1, m);
    auto place = static_cast<std::int32_t>(k);
    if (place < ahead) return {PassKind::kForward, place};
    place -= ahead;
    // The i-th turn is up to three passes: F(ahead + i), I(i), W(i - rank).
    const std::int32_t forwards = m - ahead;
    const std::int32_t first = std::min({forwards, rank, m});  // turns of two: F and I
    const std::int32_t second = std::min(std::max(forwards, rank), m);
    const bool is_short = forwards < rank;  // then turns of I alone follow, else of all three
    const std::int32_t middle = is_short ? 1 : 3;
    std::int32_t turn = 0;
    if (place < 2 * first) {
      turn = place / 2;
      place %= 2;
    } else if (place < 2 * first + middle * (second - first)) {
      place -= 2 * first;
      turn = first + place / middle;
      place %= middle;
    } else if (place < 2 * first + middle * (second - first) + 2 * (m - second)) {
      place -= 2 * first + middle * (second - first);
      turn = second + place / 2;
      place %= 2;
    } else {
      place -= 2 * first + middle * (second - first) + 2 * (m - second);
      return {PassKind::kWeightGradient, std::max(m - rank, 0) + place};
    }
    if (turn < forwards && place-- == 0) return {PassKind::kForward, ahead + turn};
    if (place == 0) return {PassKind::kInputGradient, turn};
    return {PassKind::kWeightGradient, turn - rank};
  }
};

const bool kRegistered =
    PipelineOrders::instance().add("zb-h1", "weights' gradients fill what 1f1b leaves idle", {},
                                   [](const Config&) { return std::make_unique<ZeroBubbleH1>(); });

}  // namespace
}  // namespace steptime
