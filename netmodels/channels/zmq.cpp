// ps-lite's ZeroMQ van, which carries MXNet's dist kvstore and BytePS over TCP. A process has few
// I/O threads; each has its share of the connections, and writes and reads all of their bytes, as
// nothing else copies them: a message's buffer is handed to ZeroMQ and taken from it. For m bytes,
// when all is idle:
//
//   m / copy + max(m / rate, latency + m / wire), and from a server m / copy at the end
//
// All that goes one way between two processes are frames of one socket, so that what carries no
// bytes (requests to pull, answers to pushes) takes the wire's latency, and is not there before
// what was sent before it.
//
// Scope: an I/O thread does one message after another, sent or received; of what carries no bytes
// it has nothing to do. Values are there when they are copied to a GPU, and so is the answer to
// another push behind them. The thread that hands over what came is not counted.
// Parameters: threads, rate [B/s], copy [B/s].
// Source: dmlc/ps-lite src/zmq_van.h (a socket for each receiver, senders_; one context with
// ZeroMQ's default of one I/O thread; zmq_msg_init_data sends, and a message is used where it came
// in), bytedance/ps-lite 4d91bdb src/zmq_van.h (such sockets, too, over whose connections servers
// answer; BYTEPS_ZMQ_NTHREADS, 4 by default). Estimate: 1 GB/s of a thread, of which the ZeroMQ
// guide says in chapter 2: one I/O thread per gigabyte in or out per second.
#include "netmodels/channels/ends.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace steptime {
namespace {

Params zmq_params(std::int64_t threads) {
  return {{.key = "threads",
           .kind = Kind::kInteger,
           .help = "of every client and server, that do its I/O",
           .need = Need::kDefault,
           .fallback = threads,
           .range = {.low = 1, .high = 1e4}},
          {.key = "rate",
           .kind = Kind::kBandwidth,
           .help = "most that one of them writes and reads",
           .need = Need::kDefault,
           .fallback = "1 GB/s",
           .range = kPositive},
          copy_param()};
}

class ZmqEnds final : public ChannelEnds {
 public:
  struct Settings {
    std::int64_t threads = 1;
    Bandwidth rate;
    Bandwidth copy;
  };

  ZmqEnds(Engine& engine, const Settings& settings, const ConnectionEnds& ends)
      : engine_(engine),
        threads_of_process_(settings.threads),
        processes_(ends),
        threads_(static_cast<std::size_t>(processes_.count() * settings.threads)),
        copies_(engine, ends, settings.copy),
        streams_(engine, settings.rate, engine.reason("messages", "ZeroMQ I/O threads")) {}

  When send(const Parcel& message) override {
    When& thread =
        thread_of(processes_.sender(message), message.is_push ? message.server : message.client);
    const When head = later(copies_.before_sending(message, engine_.present()), thread);
    streams_.write(message, head, thread);
    return head;
  }

  When receive(const Parcel& message) override {
    When& thread =
        thread_of(processes_.receiver(message), message.is_push ? message.client : message.server);
    return copies_.after_receiving(message, streams_.read(message, thread));
  }

 private:
  /// ZeroMQ gives a new connection, here the one with `other`, to the thread that has the fewest:
  /// to each in turn.
  When& thread_of(std::int64_t process, std::int64_t other) {
    return threads_[static_cast<std::size_t>(process * threads_of_process_ +
                                             other % threads_of_process_)];
  }

  Engine& engine_;
  std::int64_t threads_of_process_;
  Processes processes_;
  std::vector<When> threads_;  ///< when the threads of every process are free
  GpuCopies copies_;
  Streams streams_;
};

std::unique_ptr<MessageChannel> make_zmq(const Config& c, bool is_byteps) {
  return std::make_unique<ChannelOf<ZmqEnds>>(
      ZmqEnds::Settings{.threads = c.get<std::int64_t>("threads"),
                        .rate = c.get<Bandwidth>("rate"),
                        .copy = c.get<Bandwidth>("copy")},
      "what an I/O thread of ZeroMQ carries is a rule of thumb",
      ChannelRules{.rests_on_one_node = is_byteps, .is_ordered = true});
}

const bool kRegistered =
    MessageChannels::instance().add(
        "zmq", "copies to the host, and I/O threads that have all bytes in hand, as ps-lite",
        zmq_params(1), [](const Config& c) { return make_zmq(c, false); }) &&
    MessageChannels::instance().add("zmq-byteps", "the same with the four I/O threads of BytePS",
                                    zmq_params(4),
                                    [](const Config& c) { return make_zmq(c, true); });

}  // namespace
}  // namespace steptime
