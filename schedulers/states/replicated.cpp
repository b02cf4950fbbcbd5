// Every rank has all weights, gradients and states, and makes the whole update: PyTorch DDP,
// Megatron without its distributed optimizer.
// Source: Megatron-LM docs/user-guide/features/dist_optimizer.md (bytes per parameter 18, 20, 16).
#include "sim/layouts/states.h"

#include <memory>

namespace steptime {
namespace {

class Replicated final : public States {
 public:
  StateParts parts(std::int64_t) const override { return {}; }
  Operation sum() const override { return Operation::kAllReduce; }
};

const bool kRegistered =
    StateKinds::instance().add("replicated", "every rank holds all, and sums up by all-reduce", {},
                               [](const Config&) { return std::make_unique<Replicated>(); }) &&
    StateKinds::instance().set_default("replicated");

}  // namespace
}  // namespace steptime
