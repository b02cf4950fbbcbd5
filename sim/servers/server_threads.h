// The threads of parameter servers, one each, which take requests in the order in which they are
// told of them.
#pragma once
#include "sim/core/units.h"
#include "sim/events/engine.h"
#include "sim/events/rank_timeline.h"
#include "sim/servers/aggregation.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {

class ServerThreads {
 public:
  /// `names`: of the buckets, on the timeline, which may be null; `actor`: what has the threads.
  ServerThreads(Engine& engine, const ServerGroup& servers, const std::vector<std::string>& names,
                Timeline* timeline, const std::string& actor = "server")
      : engine_(engine),
        servers_(servers),
        reason_(engine.reason("requests and updates", actor + " thread")),
        names_(names),
        works_(servers.rate || servers.request_time > Duration{} ||
               servers.update.seconds_per_byte > 0),
        threads_(static_cast<std::size_t>(servers.count)) {
    if (timeline == nullptr) return;
    for (std::int64_t s = 0; s < servers.count; ++s)
      drawn_.emplace_back(timeline, fmt::format("{} {}", actor, s));
  }

  struct Job {
    const char* what;    ///< on the timeline
    std::size_t bucket;  ///< that it is about
    Duration work;
    bool is_request = true;  ///< which costs its own time
    std::uint64_t flow = 0;  ///< on the timeline
  };
  /// Works on what is there at `when`; returns when it is done.
  When serve(std::int32_t server, When when, const Job& job) {
    if (!works_) return when;
    Thread& thread = threads_[static_cast<std::size_t>(server)];
    const Duration work = job.is_request ? job.work + servers_.request_time : job.work;
    const bool waits = thread.free.time > when.time;
    const Time start = waits ? thread.free.time : when.time;
    thread.busy += work;
    thread.free =
        waits ? engine_.lengthen(thread.free, work, reason_) : engine_.until(when, work, reason_);
    if (!drawn_.empty() && work > Duration{}) {
      drawn_[static_cast<std::size_t>(server)].add(
          "thread", fmt::format("{} {}", job.what, names_[job.bucket]), start, thread.free.time,
          {.flow = job.flow});
    }
    return thread.free;
  }
  /// Whether somebody looks at the jobs' flows.
  bool are_drawn() const { return !drawn_.empty(); }
  /// Whether requests keep the threads busy; if not, `serve` takes them in any order.
  bool work() const { return works_; }
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
    When free{};
    Duration busy{};
  };
  Engine& engine_;
  const ServerGroup& servers_;
  Reason reason_;
  const std::vector<std::string>& names_;
  bool works_;
  std::vector<Thread> threads_;
  std::vector<RankTimeline> drawn_;
};

}  // namespace steptime
