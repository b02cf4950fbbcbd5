// ps-lite, which carries the parameter servers of MXNet and BytePS.
#include "sim/servers/transport.h"

namespace steptime {
namespace {

const bool kRegistered =
    add_transport("ps-lite", "pushes and pulls go through ZeroMQ's I/O threads",
                  {.channel = "zmq"}) &&
    add_transport("byteps", "the same through BytePS's own build of it, with four I/O threads",
                  {.channel = "zmq-byteps"}) &&
    add_transport("ps-lite-rdma", "pushes and pulls go by RDMA between registered buffers",
                  {.channel = "rdma-van"});

}  // namespace
}  // namespace steptime
