// All but attention and every second product is computed again: what PyTorch's selective activation
// checkpointing of operators keeps with torchtitan's list.
//
// Scope: of a layer's products as many are kept as are made again, whichever they are.
// Parameters: none. Source: torchtitan parallelisms/parallelize_llama.py (_save_list, and in
// _get_custom_policy every second aten.mm).
#include "sim/layouts/recomputation.h"

#include <memory>

namespace steptime {
namespace {

class Operators final : public Recomputation {
 public:
  Recomputed of(std::int64_t /*layer*/) const override { return Recomputed::kOperators; }
};

const bool kRegistered = Recomputations::instance().add(
    "operators", "all but attention and every second product is computed again", {},
    [](const Config&) { return std::make_unique<Operators>(); });

}  // namespace
}  // namespace steptime
