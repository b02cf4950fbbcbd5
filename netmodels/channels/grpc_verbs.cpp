// TensorFlow's gRPC+Verbs: what asks for a tensor is a control message between two processes, and
// the adapter writes the tensor from pinned memory straight into the other side's. For m bytes,
// when all is idle:
//
//   m / copy + control + latency + m / wire, and from a server m / copy at the end
//
// A client and a server have one control message under way at once, which waits for its answer.
//
// Scope: the first exchange about a tensor, with its metadata, is left out. A request carries no
// bytes, and takes the wire's latency besides.
// Parameters: control [time], copy [B/s].
// Source: tensorflow contrib/verbs (README.md, rdma.cc). Estimate: 10 us for a control message, the
// thread that takes it, and its answer.
#include "netmodels/channels/engines.h"
#include "sim/servers/channel.h"

#include <memory>
#include <string>

namespace steptime {
namespace {

const Params kParams{{.key = "control",
                      .kind = Kind::kTime,
                      .help = "message about a tensor before it travels, and its answer",
                      .need = Need::kDefault,
                      .fallback = "10 us",
                      .range = kNotNegative},
                     copy_param()};

class VerbsEnds final : public ChannelEnds {
 public:
  VerbsEnds(Engine& engine, Duration control, Bandwidth copy, const ConnectionEnds& ends)
      : engine_(engine),
        control_time_(control),
        copy_(copy),
        servers_(ends.servers),
        to_host_(ends.clients),
        to_gpu_(ends.clients),
        control_((ends.clients + ends.hosts) * ends.servers),
        copies_(engine.reason("copies between GPU and host", "copy engines")),
        controls_(engine.reason("control messages", "connections")) {}

  When send(const Parcel& message) override {
    When at = engine_.present();
    if (message.is_push && to_host_.has(message.client))
      at = to_host_.use(engine_, message.client, at, time_of(message.bytes, copy_), copies_);
    return control_.use(engine_, message.client * servers_ + message.server, at, control_time_,
                        controls_);
  }

  When receive(const Parcel& message) override {
    const When in = engine_.present();
    if (message.is_push || !to_gpu_.has(message.client)) return in;
    return to_gpu_.use(engine_, message.client, in, time_of(message.bytes, copy_), copies_);
  }

 private:
  Engine& engine_;
  Duration control_time_;
  Bandwidth copy_;
  std::int64_t servers_;
  Engines to_host_;  ///< copy engines of every client's GPU
  Engines to_gpu_;
  Engines control_;  ///< of every pair of a client and a server
  Reason copies_;
  Reason controls_;
};

class Verbs final : public MessageChannel {
 public:
  Verbs(Duration control, Bandwidth copy) : control_(control), copy_(copy) {}
  std::unique_ptr<ChannelEnds> open(Engine& engine, const ConnectionEnds& ends) const override {
    return std::make_unique<VerbsEnds>(engine, control_, copy_, ends);
  }
  std::string outside_domain() const override {
    return "what a control message of gRPC+Verbs takes is an estimate";
  }

 private:
  Duration control_;
  Bandwidth copy_;
};

const bool kRegistered = MessageChannels::instance().add(
    "grpc-verbs", "copies to pinned memory, and RDMA after a control message, as TensorFlow",
    kParams, [](const Config& c) {
      return std::make_unique<Verbs>(c.get<Duration>("control"), c.get<Bandwidth>("copy"));
    });

}  // namespace
}  // namespace steptime
