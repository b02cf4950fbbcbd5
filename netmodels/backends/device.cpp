// Collectives work on the GPUs' memory, and the GPUs add up.
#include "sim/collective/backend.h"

#include <memory>

namespace steptime {
namespace {

const bool kRegistered =
    Backends::instance().add("device", "collectives work on the GPUs' memory, which adds up", {},
                             [](const Config&) { return std::make_unique<Backend>(); });

}  // namespace
}  // namespace steptime
