// Libraries under a coordinator: Horovod over each, and Baidu's all-reduce for TensorFlow
// (contrib/mpi_collectives). What travels together is the schedule's: Horovod's fusion is
// {"type": "tensor-fusion", "cycle": "0 s"}, as the cycle is the coordinator's; Baidu fuses
// nothing, which is `wfbp`.
#include "sim/servers/transport.h"

namespace steptime {
namespace {

const bool kRegistered =
    add_transport("horovod-mpi",
                  "a coordinator agrees with all ranks, cycle by cycle, on what MPI reduces next",
                  {.coordinator = "horovod"}) &&
    add_transport("horovod-mvapich2", "the same over MVAPICH2 on GPU buffers",
                  {.backend = "mvapich2-gdr", .coordinator = "horovod"}) &&
    add_transport("horovod-mpi-opt", "the same over MVAPICH2 as paper 002 proposes",
                  {.backend = "mpi-opt", .coordinator = "horovod"}) &&
    add_transport("horovod-nccl", "the same over NCCL",
                  {.backend = "nccl", .coordinator = "horovod"}) &&
    add_transport("baidu", "rank 0 answers, tick by tick, which gradients go around a ring next",
                  {.backend = "baidu-ring", .coordinator = "baidu"});

}  // namespace
}  // namespace steptime
