// Synchronous SGD: a step ends when everyone has the sum of all gradients (001 Figure 6).
#include "sim/servers/aggregation.h"

#include <memory>

namespace steptime {
namespace {

const bool kRegistered =
    Updates::instance().add("sgd", "synchronous: everyone waits for the sum of all gradients", {},
                            [](const Config&) { return std::make_unique<Update>(); });

}  // namespace
}  // namespace steptime
