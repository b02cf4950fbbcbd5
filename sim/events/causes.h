// Why simulated time passes: every time that somebody waits for has a cause, which says since when
// and for what reason the time passed, and that since has a cause in turn, back to the start of the
// run. What lies between two neighbours passed for one reason, so that the reasons' times add up to
// the whole, to the picosecond, by construction.
//
// What queues for a resource has as its cause what came later: that it was there, or that the
// resource was free. The way back from the end of a run is then its critical path.
//
// Times that pass for one reason, one after another, are one record, which grows longer: whatever
// follows from a time within a record has, up to there, the record's reason and what led to it.
#pragma once
#include "sim/core/error.h"
#include "sim/core/units.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// Names a cause; 0: the start of the run, or nobody keeps causes. As long as a time: what is
/// stored in parts and loaded in one costs a stalled load.
using CauseId = std::uint64_t;
/// Names why time passes; 0: nobody said so.
using Reason = std::uint32_t;

/// A time, and what led to it.
struct When {
  Time time{};
  CauseId cause = 0;
  When() = default;
  explicit When(Time at, CauseId because = 0) : time(at), cause(because) {}
};
/// Of equal times the first.
inline When later(When a, When b) {
  return b.time > a.time ? b : a;
}

/// A When that somebody goes on from when it has passed, and keeps until then.
struct Held {
  Time time{};
  CauseId cause = 0;
};

/// A part of the step's time: why it passes, and what it is spent on.
struct Cause {
  std::string cause;
  std::string resource;
  double seconds = 0;
};

/// The causes of a run. Memory grows with the length of critical paths, and with what is under way.
class Causes {
 public:
  Causes() { names_.push_back({"not explained", ""}); }

  /// The same for the same two texts.
  Reason reason(std::string_view cause, std::string_view resource);

  /// `end`, to which time passes for `reason` from `since` on.
  When until(When since, Time end, Reason reason);
  /// The same for something whose end is not known yet.
  CauseId begin(When since, Reason reason);
  When finish(CauseId id, Time end);
  /// Keeps what led to `when` after that time has passed, until it is let go.
  CauseId hold(When when) { return begin(when, Reason{}); }
  When let_go(CauseId held);

  /// Whether what led to `when` is known.
  bool know(When when) const {
    const Record& record = records_[when.cause];
    return record.start <= when.time && when.time <= record.end && record.end != kOpen;
  }
  /// Frees what no time from `now` on can lead back to, when there may be much of it.
  void tidy(Time now) {
    if (young_.size() >= kYoung) collect(now);
  }
  std::size_t size() const { return records_.size() - free_.size(); }

  /// The ways back from `ends`, each up to its time: what its cause has behind that does not count.
  /// The time of every reason on all of them over `share`, the longest first.
  std::vector<Cause> attribution(const std::vector<When>& ends, double share) const;

 private:
  struct Record {
    Time start{};
    Time end{};               ///< so far; kOpen: not yet known
    std::uint32_t since = 0;  ///< what led to the start
    Reason reason = 0;
  };
  static constexpr Reason kStart = ~Reason{0};  ///< of the start of the run
  static constexpr Time kOpen = Time::max();
  static constexpr Time kGone = Time::min();
  static constexpr std::size_t kYoung = 1 << 14;  ///< as many as a cache holds

  CauseId add(When since, Time end, Reason reason);
  void collect(Time now);
  void sweep(Time now);
  void add_paths(const std::vector<When>& tops, std::vector<double>& times) const;

  std::vector<Record> records_{{.reason = kStart}};
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t>
      young_;                   ///< added since the last sweep: no older one leads back to them
  std::vector<char> leads_{1};  ///< of each record: an older one, which something may lead to
  std::size_t latest_ = 0;      ///< record that until() added
  std::size_t sweep_all_at_ = 4 * kYoung;
  std::vector<Cause> names_;  ///< of the reasons
};

}  // namespace steptime
