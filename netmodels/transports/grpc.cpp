// TensorFlow's parameter servers: what carries their tensors.
#include "sim/servers/transport.h"

namespace steptime {
namespace {

const bool kRegistered =
    add_transport("grpc", "pushes and pulls go through gRPC's threads and streams",
                  {.channel = "grpc"}) &&
    add_transport("grpc-accelerated", "the same with streams that go by RDMA",
                  {.channel = "grpc-accelerated"}) &&
    add_transport("grpc-mpi", "pushes and pulls go through one polling thread a process",
                  {.channel = "grpc-mpi"}) &&
    add_transport("grpc-verbs", "pushes and pulls go by RDMA between pinned buffers",
                  {.channel = "grpc-verbs"}) &&
    add_transport("grpc-gdr", "pushes and pulls go by RDMA from and to the GPUs' memory",
                  {.channel = "grpc-gdr"});

}  // namespace
}  // namespace steptime
