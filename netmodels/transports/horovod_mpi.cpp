// Horovod over an MPI library that takes GPU buffers; what travels together is the schedule's,
// usually {"type": "tensor-fusion", "cycle": "0 s"}, as the cycle is the coordinator's.
#include "sim/servers/transport.h"

namespace steptime {
namespace {

const bool kRegistered = add_transport(
    "horovod-mpi", "a coordinator agrees with all ranks, cycle by cycle, on what MPI reduces next",
    {.coordinator = "horovod"});

}  // namespace
}  // namespace steptime
