// What does one thing after another at the ends of a channel: copy engines, threads, adapters.
#pragma once
#include "sim/config/config.h"
#include "sim/events/engine.h"
#include "sim/servers/carrier.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace steptime {

inline Duration time_of(Bytes bytes, Bandwidth rate) {
  return from_seconds(static_cast<double>(bytes.count) / rate.bytes_per_second);
}

class Engines {
 public:
  explicit Engines(std::int64_t count) : free_(static_cast<std::size_t>(count)) {}
  bool has(std::int64_t i) const { return static_cast<std::size_t>(i) < free_.size(); }
  /// Engine i does something for so long, from `at` on or, when it is busy then, afterwards.
  When use(Engine& engine, std::int64_t i, When at, Duration length, Reason reason) {
    When& free = free_[static_cast<std::size_t>(i)];
    free = engine.until(later(at, free), length, reason);
    return free;
  }

 private:
  std::vector<When> free_;
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

inline Param copy_param() {
  return {.key = "copy",
          .kind = Kind::kBandwidth,
          .help = "between a client's GPU and its host, in each direction",
          .need = Need::kDefault,
          .fallback = "12.5 GB/s",
          .range = kPositive};
}

}  // namespace steptime
