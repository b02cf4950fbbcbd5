// Asynchronous SGD: a server applies each push when it comes and answers at once (001 Figure 7).
#include "sim/servers/aggregation.h"

#include <memory>

namespace steptime {
namespace {

const bool kRegistered = Updates::instance().add(
    "asgd", "asynchronous: servers apply every push when it arrives", {},
    [](const Config&) { return std::make_unique<Update>(Update{.kind = Update::Kind::kAsgd}); });

}  // namespace
}  // namespace steptime
