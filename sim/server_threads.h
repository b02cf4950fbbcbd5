// The threads of parameter servers, one each, which take requests in the order in which they are
// told of them.
#pragma once
#include "sim/aggregation.h"
#include "sim/rank_timeline.h"
#include "sim/units.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {

class ServerThreads {
 public:
  ServerThreads(const ServerGroup& servers, Timeline* timeline)
      : servers_(servers), threads_(static_cast<std::size_t>(servers.count)) {
    if (timeline == nullptr) return;
    for (std::int64_t s = 0; s < servers.count; ++s)
      drawn_.emplace_back(timeline, fmt::format("server {}", s));
  }

  /// Works on a request, or on an answer that needs none, that is there at `when`; returns when it
  /// is done.
  Time serve(std::int32_t server, Time when, Duration work, bool is_request, const char* what) {
    Thread& thread = threads_[static_cast<std::size_t>(server)];
    if (is_request) work += servers_.request_time;
    const Time start = std::max(thread.free, when);
    thread.busy += work;
    thread.free = start + work;
    if (!drawn_.empty() && work > Duration{})
      drawn_[static_cast<std::size_t>(server)].add("thread", what, start, thread.free);
    return thread.free;
  }
  /// Of bytes that come in or go out.
  Duration handling(Bytes bytes) const {
    if (!servers_.rate) return {};
    return from_seconds(static_cast<double>(bytes.count) / servers_.rate->bytes_per_second);
  }
  /// Of parameters that change.
  Duration updating(Bytes bytes) const {
    return from_seconds(servers_.update.seconds_per_byte * static_cast<double>(bytes.count));
  }
  /// Of the busiest thread.
  Duration most_busy() const {
    Duration most{};
    for (const Thread& thread : threads_)
      most = std::max(most, thread.busy);
    return most;
  }

 private:
  struct Thread {
    Time free{};
    Duration busy{};
  };
  const ServerGroup& servers_;
  std::vector<Thread> threads_;
  std::vector<RankTimeline> drawn_;
};

}  // namespace steptime
