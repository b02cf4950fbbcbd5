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
#include "netmodels/channels/ends.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
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

class GrpcEnds final : public ChannelEnds {
 public:
  struct Settings {
    Bandwidth stream;
    std::int64_t threads = 1;
    Duration request{};
    std::optional<Bandwidth> copy{};  ///< none: adapters move what is in the GPUs' memory
  };

  GrpcEnds(Engine& engine, const Settings& settings, const ConnectionEnds& ends)
      : engine_(engine),
        request_(settings.request),
        processes_(ends),
        threads_(static_cast<std::size_t>(processes_.count()),
                 Free(static_cast<std::size_t>(settings.threads))),
        requests_(engine.reason("requests", "gRPC threads")),
        streams_(engine, settings.stream, engine.reason("streams of tensors", "gRPC threads")) {
    if (settings.copy) copies_.emplace(engine, ends, *settings.copy);
  }

  When send(const Parcel& message) override {
    When at = engine_.present();
    if (copies_) at = copies_->before_sending(message, at);
    When& thread = idle_thread(processes_.sender(message));
    const When head = engine_.until(later(at, thread), request_, requests_);
    streams_.write(message, head, thread);
    return head;
  }

  When receive(const Parcel& message) override {
    const When has = streams_.read(message, idle_thread(processes_.receiver(message)));
    return copies_ ? copies_->after_receiving(message, has) : has;
  }

 private:
  using Free = std::vector<When>;

  /// Of a process, the thread that is free first.
  When& idle_thread(std::int64_t process) {
    Free& threads = threads_[static_cast<std::size_t>(process)];
    return *std::min_element(threads.begin(), threads.end(),
                             [](When a, When b) { return a.time < b.time; });
  }

  Engine& engine_;
  Duration request_;
  Processes processes_;
  std::vector<Free> threads_;  ///< when the threads of every process are free
  std::optional<GpuCopies> copies_;
  Reason requests_;
  Streams streams_;
};

std::unique_ptr<MessageChannel> make_grpc(const Config& c, bool copies) {
  return std::make_unique<ChannelOf<GrpcEnds>>(
      GrpcEnds::Settings{.stream = c.get<Bandwidth>("stream"),
                         .threads = c.get<std::int64_t>("threads"),
                         .request = c.get<Duration>("request"),
                         .copy = copies ? std::optional(c.get<Bandwidth>("copy")) : std::nullopt},
      "gRPC's rates are reports from other machines");
}
std::unique_ptr<MessageChannel> make_with_copies(const Config& c) {
  return make_grpc(c, true);
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
        stream_params("3.4 GB/s"), [](const Config& c) { return make_grpc(c, false); });

}  // namespace
}  // namespace steptime
