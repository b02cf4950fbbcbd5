// What does one thing after another at the ends of a channel: copy engines, threads, adapters.
#pragma once
#include "sim/config/config.h"
#include "sim/events/engine.h"

#include <cstddef>
#include <cstdint>
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

inline Param copy_param() {
  return {.key = "copy",
          .kind = Kind::kBandwidth,
          .help = "between a client's GPU and its host, in each direction",
          .need = Need::kDefault,
          .fallback = "12.5 GB/s",
          .range = kPositive};
}

}  // namespace steptime
