// The RDMA van of BytePS' ps-lite: the adapter writes a message from the registered memory of one
// process into that of the other, and a second, small write tells it so. No thread touches the
// bytes; one thread of each process sees what is over, message by message. For m bytes, when all is
// idle:
//
//   m / copy + latency + m / wire + completion, and from a server m / copy at the end
//
// Scope: the first message of a key, which asks where to write, and the few bytes of the second
// write are left out. What carries no bytes (requests to pull, answers to pushes) takes the wire's
// latency only.
// Parameters: completion [time], copy [B/s].
// Source: bytedance/ps-lite src/rdma_van.h (SendMsg, PollCQ: one thread a process) and
// src/rdma_transport.h (SendPushRequest and SendPullResponse: a write, then a write with
// immediate). Estimate: 5 us until the thread that waits for a message has it, over two queues
// between threads.
#include "netmodels/channels/engines.h"
#include "sim/servers/channel.h"

#include <memory>
#include <string>

namespace steptime {
namespace {

const Params kParams{{.key = "completion",
                      .kind = Kind::kTime,
                      .help = "of the receiver's thread, per message",
                      .need = Need::kDefault,
                      .fallback = "5 us",
                      .range = kNotNegative},
                     copy_param()};

class RdmaVanEnds final : public ChannelEnds {
 public:
  RdmaVanEnds(Engine& engine, Duration completion, Bandwidth copy, const ConnectionEnds& ends)
      : engine_(engine),
        completion_(completion),
        copy_(copy),
        first_server_(ends.clients + ends.hosts),
        threads_(first_server_ + ends.servers),
        to_host_(ends.clients),
        to_gpu_(ends.clients),
        copies_(engine.reason("copies between GPU and host", "copy engines")),
        completions_(engine.reason("completions", "polling threads")) {}

  When send(const Parcel& message) override {
    const When at = engine_.present();
    if (!message.is_push || !to_host_.has(message.client)) return at;
    return to_host_.use(engine_, message.client, at, time_of(message.bytes, copy_), copies_);
  }

  When receive(const Parcel& message) override {
    const std::int64_t process = message.is_push ? first_server_ + message.server : message.client;
    const When has = threads_.use(engine_, process, engine_.present(), completion_, completions_);
    if (message.is_push || !to_gpu_.has(message.client)) return has;
    return to_gpu_.use(engine_, message.client, has, time_of(message.bytes, copy_), copies_);
  }

 private:
  Engine& engine_;
  Duration completion_;
  Bandwidth copy_;
  std::int64_t first_server_;
  Engines threads_;  ///< of every process: clients, hosts, servers
  Engines to_host_;  ///< copy engines of every client's GPU
  Engines to_gpu_;
  Reason copies_;
  Reason completions_;
};

class RdmaVan final : public MessageChannel {
 public:
  RdmaVan(Duration completion, Bandwidth copy) : completion_(completion), copy_(copy) {}
  std::unique_ptr<ChannelEnds> open(Engine& engine, const ConnectionEnds& ends) const override {
    return std::make_unique<RdmaVanEnds>(engine, completion_, copy_, ends);
  }
  std::string outside_domain() const override {
    return "what the RDMA van's thread takes for a message is an estimate";
  }

 private:
  Duration completion_;
  Bandwidth copy_;
};

const bool kRegistered = MessageChannels::instance().add(
    "rdma-van", "copies to registered memory, and RDMA from there, as BytePS' ps-lite", kParams,
    [](const Config& c) {
      return std::make_unique<RdmaVan>(c.get<Duration>("completion"), c.get<Bandwidth>("copy"));
    });

}  // namespace
}  // namespace steptime
