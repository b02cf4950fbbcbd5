// Libraries by themselves: collectives start as they are called, and bytes go straight to the wire.
#include "sim/servers/transport.h"

namespace steptime {
namespace {

const bool kRegistered =
    add_transport("mpi", "collectives start as they are called, bytes go straight to the wire",
                  {}) &&
    add_transport("mpi-opt", "the same with MVAPICH2 as paper 002 proposes",
                  {.backend = "mpi-opt"}) &&
    add_transport("nccl", "the same with NCCL", {.backend = "nccl"}) &&
    Transports::instance().set_default("mpi");

}  // namespace
}  // namespace steptime
