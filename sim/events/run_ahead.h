// A domain: a part of a run, such as one rank of many, whose events touch nothing outside of it. It
// hears of the others only when something that they share answers a call, so in between its events
// may run ahead of the shared clock.
//
// It runs up to the earliest time at which one of its calls may return and then waits for the
// shared clock: its events run in the order in which one clock for all would run them. Its causes,
// if anybody keeps them, are the shared clock's: none of them lies before that clock's present.
#pragma once
#include "sim/core/units.h"
#include "sim/events/callback.h"
#include "sim/events/callee.h"
#include "sim/events/engine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace steptime {

class Domain {
 public:
  /// `runs_ahead`: has events of its own; else they are the shared clock's.
  Domain(Engine& clock, bool runs_ahead) : shared_(clock), runs_ahead_(runs_ahead) {}
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  bool runs_ahead() const { return runs_ahead_; }
  Time now() const { return runs_ahead_ ? own_.now() : shared_.now(); }

  /// Runs `action`, as small as a Callback takes it, at `when`, which must not lie in the past. The
  /// phase is before kSchedule, which is for decisions.
  template <class Action>
  void at(When when, Phase phase, Action action) {
    if (runs_ahead_)
      own_.add({{when.time, phase}, when.cause, Callback::of(action)});
    else
      shared_.at(when, phase, action);
  }

  // Of causes, as an engine's.
  bool keeps_causes() const { return shared_.keeps_causes(); }
  When present() {
    if (!runs_ahead_) return shared_.present();
    return keeps_causes() ? present_ : When(own_.now());
  }
  void because(When when) {
    if (runs_ahead_)
      present_ = when;
    else
      shared_.because(when);
  }
  /// What begins at present takes so long.
  When until(Duration length, Reason reason) { return until(present(), length, reason); }
  When until(When since, Duration length, Reason reason) {
    return shared_.until(since, length, reason);
  }
  /// The same, for who makes what has led to the present longer.
  When lengthen(Duration length, Reason reason) {
    return shared_.lengthen(present(), length, reason);
  }

  /// Who is called once at the end of an instant in which a decision was asked for.
  void set_decision(Callback decide) { decide_ = decide; }
  void ask_for_decision() {
    if (decision_is_due_) return;
    decision_is_due_ = true;
    if (!runs_ahead_) shared_.after({}, Phase::kSchedule, [this] { decide(); });
  }

  /// Lets `length` pass at once if nothing of the domain happens meanwhile and no call can return;
  /// to be called as the last thing that an event does, or by a program that goes on. Whoever keeps
  /// causes then says what it passed for: until that, the present is the one before.
  bool pass(Duration length) {
    if (!runs_ahead_ || own_.now() >= earliest_return_) return false;
    if (decision_is_due_) {
      if (!own_.none_until(own_.now())) return false;
      decide();
    }
    const Time end = time_after(own_.now(), length);
    if (!own_.none_until(end) || decision_is_due_ || end >= earliest_return_) return false;
    own_.pass_to(end);
    return true;
  }

  /// make(when, answer) calls `callee`: the call is made then, which is the domain's present and
  /// may lie ahead of the shared clock; `answer` is to be called on that clock when the call
  /// returns, later than make() does; make() returns the callee's name for the call. `returns` is
  /// an event of the domain.
  template <class Make>
  void call(const Callee& callee, Callback returns, Make make) {
    if (!runs_ahead_) {
      make(shared_.present(), returns);
      return;
    }
    const std::size_t place = take_place();
    const std::uint64_t name =
        make(present(), Callback{[](void* self, std::uint64_t which) {
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
    /// The call returns at this time or later; kNever when it has returned.
    Time earliest = kNever;
  };

  void decide() {
    decision_is_due_ = false;
    const When present = present_;  // of who lets time pass
    decide_();
    present_ = present;
  }
  std::size_t take_place();
  void returned(std::size_t call);
  /// `reached`: the moment of the shared clock, up to which all events may run.
  void run(Moment reached);
  void find_earliest_return();
  void wake_at(Moment next);

  Engine& shared_;
  bool runs_ahead_;
  bool decision_is_due_ = false;
  Time earliest_return_ = kNever;
  EventsAhead own_;
  When present_{};  ///< while it runs ahead and causes are kept
  Callback decide_;
  std::vector<Call> calls_;  ///< outstanding ones, and free places
  std::size_t outstanding_ = 0;
  Moment wakes_{kNever};
  EventId wake_{};
};

}  // namespace steptime
