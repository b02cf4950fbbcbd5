// TensorFlow's gRPC+MPI: a process has one thread for all of MPI, which takes messages one by one.
// For each that it sends it copies the tensor from the GPU (on a client), encodes it and sends it
// whole; for each that it receives it decodes it. A copy to the GPU is not its work. For m bytes,
// when all is idle:
//
//   loop + m / copy + m / encode + latency + m / wire + loop + m / encode, and from a server m /
//   copy
//
// Scope: a loop of the thread handles one message of each kind at most: `loop` stands for what it
// does besides. A transfer needs no thread. Requests for tensors carry no bytes and take the wire's
// latency only.
// Parameters: loop [time], encode [B/s], copy [B/s].
// Source: tensorflow contrib/mpi/mpi_rendezvous_mgr.cc (MPI_OPTIMAL_PATH is 0 by default).
// Estimates: two copies in the host's memory, at 6 GB/s each, to encode a tensor and to decode it;
// 10 us a loop.
#include "netmodels/channels/ends.h"

#include <cstdint>
#include <memory>

namespace steptime {
namespace {

const Params kParams{{.key = "loop",
                      .kind = Kind::kTime,
                      .help = "of the thread, per message, whatever it carries",
                      .need = Need::kDefault,
                      .fallback = "10 us",
                      .range = kNotNegative},
                     {.key = "encode",
                      .kind = Kind::kBandwidth,
                      .help = "tensors that the thread encodes or decodes",
                      .need = Need::kDefault,
                      .fallback = "3 GB/s",
                      .range = kPositive},
                     copy_param()};

class GrpcMpiEnds final : public ChannelEnds {
 public:
  struct Settings {
    Duration loop{};
    Bandwidth encode;
    Bandwidth copy;
  };

  GrpcMpiEnds(Engine& engine, const Settings& settings, const ConnectionEnds& ends)
      : engine_(engine),
        settings_(settings),
        processes_(ends),
        threads_(processes_.count()),
        copies_on_threads_(engine.reason("copies between GPU and host", "polling threads")),
        loops_(engine.reason("messages", "polling threads")),
        codes_(engine.reason("encoding and decoding", "polling threads")),
        copies_(engine, ends, settings.copy) {}

  When send(const Parcel& message) override {
    const std::int64_t process = processes_.sender(message);
    When at = threads_.use(engine_, process, engine_.present(), settings_.loop, loops_);
    if (copies_.leaves_gpu(message))
      at = threads_.use(engine_, process, at, copies_.time(message), copies_on_threads_);
    return threads_.use(engine_, process, at, time_of(message.bytes, settings_.encode), codes_);
  }

  When receive(const Parcel& message) override {
    const std::int64_t process = processes_.receiver(message);
    const When at = threads_.use(engine_, process, engine_.present(), settings_.loop, loops_);
    return copies_.after_receiving(
        message,
        threads_.use(engine_, process, at, time_of(message.bytes, settings_.encode), codes_));
  }

 private:
  Engine& engine_;
  Settings settings_;
  Processes processes_;
  Engines threads_;  ///< the threads of every process
  Reason copies_on_threads_;
  Reason loops_;
  Reason codes_;
  GpuCopies copies_;
};

const bool kRegistered = MessageChannels::instance().add(
    "grpc-mpi", "one thread a process copies, encodes and decodes all tensors, as TensorFlow",
    kParams, [](const Config& c) {
      return std::make_unique<ChannelOf<GrpcMpiEnds>>(
          GrpcMpiEnds::Settings{.loop = c.get<Duration>("loop"),
                                .encode = c.get<Bandwidth>("encode"),
                                .copy = c.get<Bandwidth>("copy")},
          "what gRPC+MPI's thread takes for a message is an estimate");
    });

}  // namespace
}  // namespace steptime
