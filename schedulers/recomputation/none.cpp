// The backward pass finds all that it needs: the forward pass has kept it.
#include "sim/layouts/recomputation.h"

#include <memory>

namespace steptime {
namespace {

class None final : public Recomputation {
 public:
  Recomputed of(std::int64_t) const override { return Recomputed::kNothing; }
};

const bool kRegistered =
    Recomputations::instance().add("none", "the forward pass keeps all that is needed", {},
                                   [](const Config&) { return std::make_unique<None>(); }) &&
    Recomputations::instance().set_default("none");

}  // namespace
}  // namespace steptime
