// A domain: a part of a run, such as one rank of many, whose events touch nothing outside of it. It
// hears of the others only when something that they share answers a call, so in between its events
// may run ahead of the shared clock, on a queue of their own that is small and stays in the cache.
//
// It runs up to the earliest time at which one of its calls may return and then waits for the
// shared clock: its events run in the order in which one clock for all would run them.
#pragma once
#include "sim/core/units.h"
#include "sim/events/callback.h"
#include "sim/events/engine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace steptime {

/// Something that domains share and call.
class Callee {
 public:
  virtual ~Callee() = default;
  /// Of a call that has not returned: no earlier than this, as long as later calls of other domains
  /// are not before the present of the shared clock.
  virtual Time returns_not_before(std::uint64_t call) const = 0;
};

class Domain {
 public:
  /// `runs_ahead`: has a queue of its own; else its events are the shared clock's.
  Domain(Engine& clock, bool runs_ahead) : shared_(clock), runs_ahead_(runs_ahead) {}
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  /// Where the domain's events are scheduled.
  Engine& events() { return runs_ahead_ ? own_ : shared_; }
  Time now() const { return runs_ahead_ ? own_.now() : shared_.now(); }

  /// make(at, answer) calls `callee`: the call is made at `at`, which is the domain's present and
  /// may lie ahead of the shared clock; `answer` is to be called on that clock when the call
  /// returns, later than make() does; make() returns the callee's name for the call. `returns` is
  /// an event of the domain.
  template <class Make>
  void call(const Callee& callee, Callback returns, Make make) {
    if (!runs_ahead_) {
      make(shared_.now(), returns);
      return;
    }
    const std::size_t place = take_place();
    const std::uint64_t name =
        make(own_.now(), Callback{[](void* self, std::uint64_t which) {
                                    static_cast<Domain*>(self)->returned(which);
                                  },
                                  this, place});
    calls_[place] = {&callee, name, returns, callee.returns_not_before(name)};
    earliest_return_ = std::min(earliest_return_, calls_[place].earliest);
  }
  /// Runs ahead; to be called when the domain's first events are scheduled.
  void start() { run({}); }

 private:
  static constexpr Time kNever = Time::max();

  struct Call {
    const Callee* callee = nullptr;
    std::uint64_t name = 0;
    Callback returns;
    Time earliest = kNever;  ///< of its return; kNever when it has returned
  };

  std::size_t take_place();
  void returned(std::size_t call);
  /// `reached`: the moment of the shared clock, up to which all events may run.
  void run(Moment reached);
  void find_earliest_return();
  void wake_at(Moment next);

  Engine& shared_;
  Engine own_;
  bool runs_ahead_;
  std::vector<Call> calls_;  ///< outstanding ones, and free places
  std::size_t outstanding_ = 0;
  Time earliest_return_ = kNever;
  Moment wakes_{kNever};
  EventId wake_{};
};

}  // namespace steptime
