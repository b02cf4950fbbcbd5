// ps-lite's ZeroMQ van, which carries MXNet's dist kvstore and BytePS over TCP. A process has few
// I/O threads; each has its share of the connections, and writes and reads all of their bytes, as
// nothing else copies them: a message's buffer is handed to ZeroMQ and taken from it. For m bytes,
// when all is idle:
//
//   m / copy + max(m / rate, latency + m / wire), and from a server m / copy at the end
//
// Scope: an I/O thread does one message after another, sent or received. What carries no bytes
// (requests to pull, answers to pushes) takes the wire's latency only. The thread that hands over
// what came is not counted.
// Parameters: threads, rate [B/s], copy [B/s].
// Source: dmlc/ps-lite src/zmq_van.h (one context with ZeroMQ's default of one I/O thread;
// zmq_msg_init_data sends, and a message is used where it came in), bytedance/ps-lite src/zmq_van.h
// (BYTEPS_ZMQ_NTHREADS, 4 by default). Estimate: 1 GB/s of a thread, of which the ZeroMQ guide says
// in chapter 2: one I/O thread per gigabyte in or out per second.
#include "netmodels/channels/engines.h"
#include "sim/servers/channel.h"

#include <memory>
#include <string>
#include <vector>

namespace steptime {
namespace {

const Params kParams{{.key = "threads",
                      .kind = Kind::kInteger,
                      .help = "of every client and server, that do its I/O",
                      .need = Need::kDefault,
                      .fallback = 1,
                      .range = {.low = 1, .high = 1e4}},
                     {.key = "rate",
                      .kind = Kind::kBandwidth,
                      .help = "most that one of them writes and reads",
                      .need = Need::kDefault,
                      .fallback = "1 GB/s",
                      .range = kPositive},
                     copy_param()};

struct Settings {
  std::int64_t threads = 1;
  Bandwidth rate;
  Bandwidth copy;
};

class ZmqEnds final : public ChannelEnds {
 public:
  ZmqEnds(Engine& engine, const Settings& settings, const ConnectionEnds& ends)
      : engine_(engine),
        settings_(settings),
        first_server_(ends.clients + ends.hosts),
        threads_(static_cast<std::size_t>((first_server_ + ends.servers) * settings.threads)),
        to_host_(ends.clients),
        to_gpu_(ends.clients),
        copies_(engine.reason("copies between GPU and host", "copy engines")),
        streams_(engine, settings.rate, engine.reason("messages", "ZeroMQ I/O threads")) {}

  When send(const Parcel& message) override {
    When at = engine_.present();
    if (message.is_push && to_host_.has(message.client))
      at = to_host_.use(engine_, message.client, at, copy_time(message), copies_);
    When& thread = thread_of(message, message.is_push);
    const When head = later(at, thread);
    streams_.write(message, head, thread);
    return head;
  }

  When receive(const Parcel& message) override {
    const When has = streams_.read(message, thread_of(message, !message.is_push));
    if (message.is_push || !to_gpu_.has(message.client)) return has;
    return to_gpu_.use(engine_, message.client, has, copy_time(message), copies_);
  }

 private:
  Duration copy_time(const Parcel& message) const { return time_of(message.bytes, settings_.copy); }
  /// ZeroMQ gives a new connection to the thread that has the fewest: to each in turn.
  When& thread_of(const Parcel& message, bool at_client) {
    const std::int64_t process = at_client ? message.client : first_server_ + message.server;
    const std::int64_t connection = at_client ? message.server : message.client;
    return threads_[static_cast<std::size_t>(process * settings_.threads +
                                             connection % settings_.threads)];
  }

  Engine& engine_;
  Settings settings_;
  std::int64_t first_server_;
  std::vector<When> threads_;  ///< of every process, when they are free: clients, hosts, servers
  Engines to_host_;            ///< copy engines of every client's GPU
  Engines to_gpu_;
  Reason copies_;
  Streams streams_;
};

class Zmq final : public MessageChannel {
 public:
  explicit Zmq(Settings settings) : settings_(settings) {}
  std::unique_ptr<ChannelEnds> open(Engine& engine, const ConnectionEnds& ends) const override {
    return std::make_unique<ZmqEnds>(engine, settings_, ends);
  }
  std::string outside_domain() const override {
    return "what an I/O thread of ZeroMQ carries is a rule of thumb";
  }

 private:
  Settings settings_;
};

const bool kRegistered = MessageChannels::instance().add(
    "zmq", "copies to the host, and I/O threads that have all bytes in hand, as ps-lite", kParams,
    [](const Config& c) {
      return std::make_unique<Zmq>(Settings{.threads = c.get<std::int64_t>("threads"),
                                            .rate = c.get<Bandwidth>("rate"),
                                            .copy = c.get<Bandwidth>("copy")});
    });

}  // namespace
}  // namespace steptime
