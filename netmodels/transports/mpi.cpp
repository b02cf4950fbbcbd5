// MPI: collectives start as they are called, and bytes go straight to the wire.
// Parameters: streams (collectives under way at once, each on a communicator of its own).
#include "sim/step/transport.h"

#include <memory>

namespace steptime {
namespace {

const Params kParams{{.key = "streams",
                      .kind = Kind::kInteger,
                      .help = "collectives that a client has under way at once, at most",
                      .need = Need::kDefault,
                      .fallback = 1,
                      .range = {.low = 1, .high = 1e6}}};

const bool kRegistered = Transports::instance().add(
    "mpi", "collectives start as they are called, bytes go straight to the wire", kParams,
    [](const Config& c) {
      return std::make_unique<Transport>(Transport{.streams = c.get<std::int64_t>("streams")});
    });

}  // namespace
}  // namespace steptime
