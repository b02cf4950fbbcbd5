// Attention's scores, softmax and dropout, which take much memory for few operations, are computed
// again in the backward pass, one layer's at a time.
// Source: Korthikanti et al., 2205.05198 section 5.
#include "sim/layouts/recomputation.h"

#include <memory>

namespace steptime {
namespace {

class Selective final : public Recomputation {
 public:
  Recomputed of(std::int64_t) const override { return Recomputed::kAttention; }
};

const bool kRegistered =
    Recomputations::instance().add("selective", "attention is computed again", {},
                                   [](const Config&) { return std::make_unique<Selective>(); });

}  // namespace
}  // namespace steptime
