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
#include "netmodels/channels/ends.h"

#include <memory>

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
  struct Settings {
    Duration completion{};
    Bandwidth copy;
  };

  RdmaVanEnds(Engine& engine, const Settings& settings, const ConnectionEnds& ends)
      : engine_(engine),
        completion_(settings.completion),
        processes_(ends),
        threads_(processes_.count()),
        copies_(engine, ends, settings.copy),
        completions_(engine.reason("completions", "polling threads")) {}

  When send(const Parcel& message) override {
    return copies_.before_sending(message, engine_.present());
  }

  When receive(const Parcel& message) override {
    return copies_.after_receiving(
        message, threads_.use(engine_, processes_.receiver(message), engine_.present(), completion_,
                              completions_));
  }

 private:
  Engine& engine_;
  Duration completion_;
  Processes processes_;
  Engines threads_;  ///< the threads of every process
  GpuCopies copies_;
  Reason completions_;
};

const bool kRegistered = MessageChannels::instance().add(
    "rdma-van", "copies to registered memory, and RDMA from there, as BytePS' ps-lite", kParams,
    [](const Config& c) {
      return std::make_unique<ChannelOf<RdmaVanEnds>>(
          RdmaVanEnds::Settings{.completion = c.get<Duration>("completion"),
                                .copy = c.get<Bandwidth>("copy")},
          "what the RDMA van's thread takes for a message is an estimate",
          ChannelRules{.rests_on_one_node = true});
    });

}  // namespace
}  // namespace steptime
