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
#include "netmodels/channels/engines.h"
#include "sim/servers/channel.h"

#include <memory>
#include <string>

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

struct Settings {
  Duration loop{};
  Bandwidth encode;
  Bandwidth copy;
};

class GrpcMpiEnds final : public ChannelEnds {
 public:
  GrpcMpiEnds(Engine& engine, const Settings& settings, const ConnectionEnds& ends)
      : engine_(engine),
        settings_(settings),
        threads_(ends.clients + ends.hosts + ends.servers),
        to_gpu_(ends.clients),
        first_server_(ends.clients + ends.hosts),
        copies_(engine.reason("copies between GPU and host", "polling threads")),
        loops_(engine.reason("messages", "polling threads")),
        codes_(engine.reason("encoding and decoding", "polling threads")),
        to_gpus_(engine.reason("copies between GPU and host", "copy engines")) {}

  When send(const Parcel& message) override {
    const std::int64_t process = message.is_push ? message.client : first_server_ + message.server;
    When at = threads_.use(engine_, process, engine_.present(), settings_.loop, loops_);
    if (message.is_push && to_gpu_.has(message.client))
      at = threads_.use(engine_, process, at, time_of(message.bytes, settings_.copy), copies_);
    return threads_.use(engine_, process, at, time_of(message.bytes, settings_.encode), codes_);
  }

  When receive(const Parcel& message) override {
    const std::int64_t process = message.is_push ? first_server_ + message.server : message.client;
    When at = threads_.use(engine_, process, engine_.present(), settings_.loop, loops_);
    at = threads_.use(engine_, process, at, time_of(message.bytes, settings_.encode), codes_);
    if (message.is_push || !to_gpu_.has(message.client)) return at;
    return to_gpu_.use(engine_, message.client, at, time_of(message.bytes, settings_.copy),
                       to_gpus_);
  }

 private:
  Engine& engine_;
  Settings settings_;
  Engines threads_;  ///< of every process: clients, hosts, servers
  Engines to_gpu_;   ///< copy engines of every client's GPU
  std::int64_t first_server_;
  Reason copies_;
  Reason loops_;
  Reason codes_;
  Reason to_gpus_;
};

class GrpcMpi final : public MessageChannel {
 public:
  explicit GrpcMpi(Settings settings) : settings_(settings) {}
  std::unique_ptr<ChannelEnds> open(Engine& engine, const ConnectionEnds& ends) const override {
    return std::make_unique<GrpcMpiEnds>(engine, settings_, ends);
  }
  std::string outside_domain() const override {
    return "what gRPC+MPI's thread takes for a message is an estimate";
  }

 private:
  Settings settings_;
};

const bool kRegistered = MessageChannels::instance().add(
    "grpc-mpi", "one thread a process copies, encodes and decodes all tensors, as TensorFlow",
    kParams, [](const Config& c) {
      return std::make_unique<GrpcMpi>(Settings{.loop = c.get<Duration>("loop"),
                                                .encode = c.get<Bandwidth>("encode"),
                                                .copy = c.get<Bandwidth>("copy")});
    });

}  // namespace
}  // namespace steptime
