// What the ends of channels are made of: processes, their threads, and the copy engines of GPUs.
#pragma once
#include "sim/config/config.h"
#include "sim/events/engine.h"
#include "sim/servers/channel.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace steptime {

inline Duration time_of(Bytes bytes, Bandwidth rate) {
  return from_seconds(static_cast<double>(bytes.count) / rate.bytes_per_second);
}

/// What does one thing after another: copy engines, threads, adapters.
class Engines {
 public:
  explicit Engines(std::int64_t count) : free_(static_cast<std::size_t>(count)) {}
  /// Engine i does something for so long, from `at` on or, when it is busy then, afterwards.
  When use(Engine& engine, std::int64_t i, When at, Duration length, Reason reason) {
    When& free = free_[static_cast<std::size_t>(i)];
    free = engine.until(later(at, free), length, reason);
    return free;
  }

 private:
  std::vector<When> free_;
};

/// The processes at the ends of all connections, by number: clients, hosts, servers.
class Processes {
 public:
  explicit Processes(const ConnectionEnds& ends)
      : first_server_(ends.clients + ends.hosts), count_(first_server_ + ends.servers) {}
  std::int64_t count() const { return count_; }
  std::int64_t sender(const Parcel& message) const { return end(message, message.is_push); }
  std::int64_t receiver(const Parcel& message) const { return end(message, !message.is_push); }

 private:
  std::int64_t end(const Parcel& message, bool is_client) const {
    return is_client ? message.client : first_server_ + message.server;
  }
  std::int64_t first_server_;
  std::int64_t count_;
};

/// Copies between the GPUs of clients and their hosts. A GPU has one copy engine for each
/// direction; what a host or a server sends, or has received, is copied nowhere.
class GpuCopies {
 public:
  GpuCopies(Engine& engine, const ConnectionEnds& ends, Bandwidth rate)
      : engine_(engine),
        gpus_(ends.clients),
        rate_(rate),
        to_host_(gpus_),
        to_gpu_(gpus_),
        reason_(engine.reason("copies between GPU and host", "copy engines")) {}

  /// Whether a message comes from a GPU.
  bool leaves_gpu(const Parcel& message) const { return message.is_push && message.client < gpus_; }
  Duration time(const Parcel& message) const { return time_of(message.bytes, rate_); }
  /// When the host has what is sent and is ready at `at`.
  When before_sending(const Parcel& message, When at) {
    if (!leaves_gpu(message)) return at;
    return to_host_.use(engine_, message.client, at, time(message), reason_);
  }
  /// When the receiver has what its host has at `at`.
  When after_receiving(const Parcel& message, When at) {
    if (message.is_push || message.client >= gpus_) return at;
    return to_gpu_.use(engine_, message.client, at, time(message), reason_);
  }

 private:
  Engine& engine_;
  std::int64_t gpus_;
  Bandwidth rate_;
  Engines to_host_;
  Engines to_gpu_;
  Reason reason_;
};

/// Streams between processes, whose threads write messages at one end and read them at the other,
/// as they come: the slower of the stream and the wire counts.
class Streams {
 public:
  Streams(Engine& engine, Bandwidth rate, Reason reason)
      : engine_(engine), rate_(rate), reason_(reason) {}

  /// A thread writes a message from `head` on; it is free at `thread` then.
  void write(const Parcel& message, When head, When& thread) {
    thread = engine_.until(head, time_of(message.bytes, rate_), reason_);
    sent_[key(message)] = thread;
  }
  /// The last byte comes from the wire now. Returns when a thread has read it all: it reads along
  /// if it was free, as `thread` says, when the first byte came; it is free again then.
  When read(const Parcel& message, When& thread) {
    const When in = engine_.present();
    const auto sent = sent_.find(key(message));
    When has = later(in, sent->second);
    const Duration length = time_of(message.bytes, rate_);
    if (thread.time > sent->second.time - length && thread.time + length > has.time)
      has = engine_.until(later(in, thread), thread.time + length, reason_);
    sent_.erase(sent);
    thread = has;
    return has;
  }

 private:
  static std::uint64_t key(const Parcel& message) {
    return static_cast<std::uint64_t>(message.client) << 33 |
           static_cast<std::uint64_t>(message.slot) << 1 | (message.is_push ? 1 : 0);
  }

  Engine& engine_;
  Bandwidth rate_;
  Reason reason_;
  std::unordered_map<std::uint64_t, When> sent_;  ///< messages on the wire: when all was written
};

/// What a channel is besides its ends (sim/servers/channel.h).
struct ChannelRules {
  bool rests_on_one_node = false;
  bool is_ordered = false;
};

/// A channel with such ends: `Ends` are made of an engine, their `Settings`, and who has
/// connections.
template <class Ends>
class ChannelOf final : public MessageChannel {
 public:
  ChannelOf(const typename Ends::Settings& settings, std::string outside_domain,
            const ChannelRules& rules = {})
      : settings_(settings), outside_domain_(std::move(outside_domain)), rules_(rules) {}
  std::unique_ptr<ChannelEnds> open(Engine& engine, const ConnectionEnds& ends) const override {
    return std::make_unique<Ends>(engine, settings_, ends);
  }
  bool is_ordered() const override { return rules_.is_ordered; }
  bool rests_on_one_node() const override { return rules_.rests_on_one_node; }
  std::string outside_domain() const override { return outside_domain_; }

 private:
  typename Ends::Settings settings_;
  std::string outside_domain_;
  ChannelRules rules_;
};

inline Param copy_param() {
  return {.key = "copy",
          .kind = Kind::kBandwidth,
          .help = "between a client's GPU and its host, in each direction",
          .need = Need::kDefault,
          .fallback = "12.5 GB/s",
          .range = kPositive};
}

}  // namespace steptime
