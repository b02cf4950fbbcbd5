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
#include "netmodels/channels/ends.h"

#include <memory>

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
  struct Settings {
    Duration control{};
    Bandwidth copy;
  };

  VerbsEnds(Engine& engine, const Settings& settings, const ConnectionEnds& ends)
      : engine_(engine),
        control_time_(settings.control),
        servers_(ends.servers),
        control_((ends.clients + ends.hosts) * ends.servers),
        copies_(engine, ends, settings.copy),
        controls_(engine.reason("control messages", "connections")) {}

  When send(const Parcel& message) override {
    return control_.use(engine_, message.client * servers_ + message.server,
                        copies_.before_sending(message, engine_.present()), control_time_,
                        controls_);
  }

  When receive(const Parcel& message) override {
    return copies_.after_receiving(message, engine_.present());
  }

 private:
  Engine& engine_;
  Duration control_time_;
  std::int64_t servers_;
  Engines control_;  ///< one for every pair of a client and a server
  GpuCopies copies_;
  Reason controls_;
};

const bool kRegistered = MessageChannels::instance().add(
    "grpc-verbs", "copies to pinned memory, and RDMA after a control message, as TensorFlow",
    kParams, [](const Config& c) {
      return std::make_unique<ChannelOf<VerbsEnds>>(
          VerbsEnds::Settings{.control = c.get<Duration>("control"),
                              .copy = c.get<Bandwidth>("copy")},
          "what a control message of gRPC+Verbs takes is an estimate");
    });

}  // namespace
}  // namespace steptime
