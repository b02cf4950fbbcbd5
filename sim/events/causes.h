// Why simulated time passes: every time that somebody waits for has a cause, which says since when
// and for what reason the time passed, and that since has a cause in turn, back to the start of the
// run. What lies between two neighbours passed for one reason, so that the reasons' times add up to
// the whole, to the picosecond, by construction.
//
// What queues for a resource has as its cause what came later: that it was there, or that the
// resource was free. The way back from the end of a run is then its critical path.
//
// A cause is a point on such a way and the reason for which time passes from it on. It grows longer
// without a new point while the reason stays: only where time passes for another reason from then
// on is there a point to keep.
#pragma once
#include "sim/core/error.h"
#include "sim/core/units.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// Names a cause; 0: the start of the run, or nobody keeps causes. As long as a time: what is
/// stored in parts and loaded in one costs a stalled load.
using CauseId = std::uint64_t;
/// Names why time passes; 0: nobody said so.
using Reason = std::uint32_t;

/// A time that passes for a reason.
struct Stretch {
  Reason reason = 0;
  Duration length{};
  friend bool operator==(const Stretch&, const Stretch&) = default;
};
/// Time that passes for the reasons of these, one after another, and the rest of it for another.
struct Stretches {
  Stretch first;
  Stretch second;
  Reason rest = 0;
  /// How long all of it is, where equal ones follow each other, as equal calls of a program do:
  /// each that lengthens the cause is another round of it. Zero: it has no rounds.
  Duration period{};
  friend bool operator==(const Stretches&, const Stretches&) = default;
};

/// A time, and what led to it.
struct When {
  Time time{};
  CauseId cause = 0;
  When() = default;
  explicit When(Time at, CauseId because = 0) : time(at), cause(because) {}
  friend bool operator==(const When&, const When&) = default;
};
/// Of equal times the first.
inline When later(When a, When b) {
  return b.time > a.time ? b : a;
}

/// A When that somebody goes on from when it has passed, and keeps until then.
struct Held {
  When when{};
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
  /// The same for the same stretches; for a few, which are known from the start.
  Reason reason(const Stretches& stretches);

  /// `end`, to which time passes for `reason` from `since` on. Stretches begin with their first
  /// one.
  When until(When since, Time end, Reason reason) {
    if (!lasts(since, reason) || reason >= kReasons)
      return end == since.time ? since : follow(since, end, reason);
    STEPTIME_CHECK(end >= since.time, "an effect comes before its cause");
    expect_known(since);
    return lengthen(since, end);
  }
  When until(When since, Time end, const Stretches& stretches);
  /// Whether more time for `reason` from `since` on makes that cause longer.
  static bool lasts(When since, Reason reason) {
    return since.cause >> kPointBits == CauseId{reason} + 1;
  }
  /// until(), where it `lasts`, for who need not prove that `since` is known. Of stretches, the
  /// last one goes on, or they begin anew.
  When lengthen(When since, Time end) {
    reach(point_of(since.cause), end);
    return When(end, since.cause);
  }
  /// Keeps what led to `when` after that time has passed, until it is let go as often.
  void hold(When when) {
    expect_known(when);
    ++points_[point_of(when.cause)].holders;
  }
  void let_go(When held) {
    Point& from = points_[point_of(held.cause)];
    STEPTIME_CHECK(from.holders > 0, "what is let go was held");
    --from.holders;
  }

  /// Frees what no time from `now` on can lead back to, when there may be much of it.
  void tidy(Time now) {
    if (next_ >= tidy_at_) collect(now);
  }
  /// Points.
  std::size_t size() const;

  /// The ways back from `ends`, each up to its time: what its cause has behind that does not count.
  /// The time of every reason on all of them over `share`, the longest first.
  std::vector<Cause> attribution(const std::vector<When>& ends, double share) const;

 private:
  static constexpr int kPointBits = 32;
  static constexpr Reason kReasons = 1 << 10;  ///< fewer; from there on the number of Stretches
  static constexpr std::size_t kMostStretches = 3000;
  static constexpr std::uint32_t kBlock = 1 << 12;  ///< points, as many as a cache holds

  enum State : std::uint32_t {
    kFree = 0,
    kYoung = 1,  ///< added since the last sweep: no old one leads back to it
    kOld = 2
  };
  struct Point {
    When at{};
    Time last{};                ///< the latest end of what follows from here for one reason
    std::uint32_t holders = 0;  ///< how many hold it, to let more follow from it
    std::uint32_t state = kFree;
  };

  static std::uint32_t point_of(CauseId cause) { return static_cast<std::uint32_t>(cause); }
  static Reason reason_of(CauseId cause) { return static_cast<Reason>(cause >> kPointBits) - 1; }
  static CauseId cause_of(std::uint32_t point, Reason reason) {
    return CauseId{reason + 1} << kPointBits | point;
  }
  /// A cause ends when its effect begins. That of the start has neither a reason nor a length.
  void expect_known(When when) const {
    const Point& from = points_[point_of(when.cause)];
    const bool known = from.state != kFree && from.at.time <= when.time && when.time <= from.last;
    STEPTIME_CHECK(when.cause == 0 ? when.time == Time{} : known,
                   "a cause ends when its effect begins");
  }
  /// The beginning of something else is a point, one for all that follows from it next.
  When follow(When since, Time end, Reason reason) {
    STEPTIME_CHECK(end >= since.time, "an effect comes before its cause");
    if (points_[latest_].at != since) [[unlikely]]
      begin(since);
    reach(latest_, end);
    return When(end, cause_of(latest_, reason));
  }
  void begin(When since);
  std::uint32_t number(const Stretches& stretches);
  template <typename Add>
  static void add_stretches(const Stretches& of, Duration passed, Add add);
  void reach(std::uint32_t point, Time end) {
    Time& last = points_[point].last;
    if (end > last) last = end;
  }
  std::uint32_t add(When at);
  void go_on();
  void collect(Time now);
  void sweep(const std::vector<std::uint32_t>& blocks, Time now);
  std::span<Point> block(std::uint32_t number);
  void add_paths(const std::vector<When>& tops, std::vector<double>& times) const;

  // Points fill the free places of one block after another. When one is full, it is swept and, if
  // there is room in it again, goes on to be filled: it is in the cache.
  std::vector<Point> points_{{.last = Time{}, .state = kOld}};  ///< first the run's start
  std::uint32_t latest_ = 0;                                    ///< point
  std::uint32_t next_ = 1;                                      ///< place to look at
  std::uint32_t end_ = 1;  ///< where the places of its block end
  std::uint32_t tidy_at_ = kBlock - kBlock / 8;
  std::vector<std::uint32_t> young_{0};  ///< blocks with young points, at last the present one
  std::vector<std::uint32_t> roomy_;     ///< blocks without, of which at least half is free
  std::size_t old_ = 0;                  ///< points
  std::size_t sweep_all_at_ = std::size_t{16} * kBlock;
  std::vector<Cause> names_;  ///< texts of the reasons, by number
  std::vector<Stretches> stretches_;
  /// Numbers of the stretches, from 1 on, by hash; 0: the place is free.
  std::vector<std::uint16_t> numbers_;
};

}  // namespace steptime
