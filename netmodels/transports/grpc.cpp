// TensorFlow's parameter servers over gRPC.
#include "sim/servers/transport.h"

namespace steptime {
namespace {

const bool kRegistered = add_transport(
    "grpc", "pushes and pulls go through gRPC's threads and streams", {.channel = "grpc"});

}  // namespace
}  // namespace steptime
