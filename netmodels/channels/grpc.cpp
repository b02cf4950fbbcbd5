// TensorFlow's gRPC: a tensor is copied between the GPU and its host, and one of a process's
// threads writes it to an HTTP/2 stream, at the other end another one reads it. For m bytes, when
// all is idle:
//
//   m / copy + request + max(m / stream, latency + m / wire), and from a server m / copy at the end
//
// A client's GPU has one copy engine for each direction. A process has `threads` threads, each of
// which is busy with a message for m / stream, and request before it sends.
//
// `grpc-gdr` is the same where the adapter reads and writes the GPUs' memory: without copies, and
// with the rate of such an adapter for `stream`. `grpc-accelerated` is gRPC whose own streams go by
// RDMA (AR-gRPC): tensors are copied to the host and asked for as ever.
//
// Scope: the wire and the streams work at once, so that the slower of the two counts; a stream's
// rate does not depend on the others of its connection, for which a process's threads stand. What
// carries no bytes (requests to pull, answers to pushes) takes the wire's latency only.
// Parameters: stream [B/s], threads, request [time], copy [B/s].
// Source: tensorflow core/distributed_runtime/rpc/grpc_worker_service.cc (eight threads serve
// RecvTensor; a worker asks for each tensor by itself); RecvTensor reports of tensorflow/tensorflow
// (100 to 200 MB/s for a tensor before mid-2017, 800 MB/s after; grpc/grpc issue 14378 has 920 MB/s
// for one stream; GDR: 3,400 MB/s, issue 6116); pinned copies over PCIe 3 x16 of 12.2 to 12.9 GB/s
// (mpicbg-scicomp/gearshifft pull 82). AR-gRPC: up to 4.1 times as fast as gRPC over IP over
// InfiniBand (Biswas, Lu and Panda, Accelerating TensorFlow with Adaptive RDMA-Based gRPC, HiPC
// 2018, abstract), which of 800 MB/s is 3.3 GB/s.
#include "netmodels/channels/engines.h"
#include "sim/servers/channel.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace steptime {
namespace {

Params stream_params(const char* stream) {
  return {{.key = "stream",
           .kind = Kind::kBandwidth,
           .help = "most that one tensor's stream carries",
           .need = Need::kDefault,
           .fallback = stream,
           .range = kPositive},
          {.key = "threads",
           .kind = Kind::kInteger,
           .help = "of every client and server, that send and receive",
           .need = Need::kDefault,
           .fallback = 8,
           .range = {.low = 1, .high = 1e4}},
          {.key = "request",
           .kind = Kind::kTime,
           .help = "of a thread, before it sends a tensor",
           .need = Need::kDefault,
           .fallback = "0 s",
           .range = kNotNegative}};
}

Params grpc_params(const char* stream) {
  Params params = stream_params(stream);
  params.push_back(copy_param());
  return params;
}

struct Settings {
  Bandwidth stream;
  std::int64_t threads = 1;
  Duration request{};
  std::optional<Bandwidth> copy{};  ///< none: adapters move what is in the GPUs' memory
};

class GrpcEnds final : public ChannelEnds {
 public:
  GrpcEnds(Engine& engine, const Settings& settings, const ConnectionEnds& ends)
      : engine_(engine),
        settings_(settings),
        first_server_(static_cast<std::size_t>(ends.clients + ends.hosts)),
        threads_(first_server_ + static_cast<std::size_t>(ends.servers),
                 Free(static_cast<std::size_t>(settings.threads))),
        to_host_(settings.copy ? ends.clients : 0),
        to_gpu_(settings.copy ? ends.clients : 0),
        copies_(engine.reason("copies between GPU and host", "copy engines")),
        requests_(engine.reason("requests", "gRPC threads")),
        streams_(engine, settings.stream, engine.reason("streams of tensors", "gRPC threads")) {}

  When send(const Parcel& message) override {
    When at = engine_.present();
    if (message.is_push) at = copy(to_host_, message, at);
    When& thread = idle_thread(process(message, message.is_push));
    const When head = engine_.until(later(at, thread), settings_.request, requests_);
    streams_.write(message, head, thread);
    return head;
  }

  When receive(const Parcel& message) override {
    const When has = streams_.read(message, idle_thread(process(message, !message.is_push)));
    return message.is_push ? has : copy(to_gpu_, message, has);
  }

 private:
  using Free = std::vector<When>;

  /// Where the message is sent from, or arrives: clients come first.
  std::size_t process(const Parcel& message, bool is_client) const {
    return is_client ? static_cast<std::size_t>(message.client)
                     : first_server_ + static_cast<std::size_t>(message.server);
  }
  /// Of a process, the thread that is free first.
  When& idle_thread(std::size_t process) {
    Free& threads = threads_[process];
    return *std::min_element(threads.begin(), threads.end(),
                             [](When a, When b) { return a.time < b.time; });
  }
  /// What a host has needs no copy.
  When copy(Engines& engines, const Parcel& message, When at) {
    if (!engines.has(message.client)) return at;
    return engines.use(engine_, message.client, at, time_of(message.bytes, *settings_.copy),
                       copies_);
  }
  Engine& engine_;
  Settings settings_;
  std::size_t first_server_;
  std::vector<Free> threads_;  ///< of every process, when they are free
  Engines to_host_;            ///< copy engines of every client's GPU
  Engines to_gpu_;
  Reason copies_;
  Reason requests_;
  Streams streams_;
};

class Grpc final : public MessageChannel {
 public:
  explicit Grpc(Settings settings) : settings_(settings) {}
  std::unique_ptr<ChannelEnds> open(Engine& engine, const ConnectionEnds& ends) const override {
    return std::make_unique<GrpcEnds>(engine, settings_, ends);
  }
  std::string outside_domain() const override {
    return "gRPC's rates are reports from other machines";
  }

 private:
  Settings settings_;
};

Settings read(const Config& c) {
  return {.stream = c.get<Bandwidth>("stream"),
          .threads = c.get<std::int64_t>("threads"),
          .request = c.get<Duration>("request")};
}

std::unique_ptr<MessageChannel> make_with_copies(const Config& c) {
  Settings settings = read(c);
  settings.copy = c.get<Bandwidth>("copy");
  return std::make_unique<Grpc>(settings);
}

const bool kRegistered =
    MessageChannels::instance().add(
        "grpc", "copies to the host, and threads that write and read streams, as TensorFlow",
        grpc_params("800 MB/s"), make_with_copies) &&
    MessageChannels::instance().add("grpc-accelerated",
                                    "the same, with streams that go by RDMA, as AR-gRPC",
                                    grpc_params("3.3 GB/s"), make_with_copies) &&
    MessageChannels::instance().add(
        "grpc-gdr", "adapters read and write the GPUs' memory, tensor by tensor, as TensorFlow",
        stream_params("3.4 GB/s"), [](const Config& c) { return std::make_unique<Grpc>(read(c)); });

}  // namespace
}  // namespace steptime
