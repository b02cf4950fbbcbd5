// What programs wait for: a number that others raise (Counter), a known number of things whose
// times may lie ahead (Gather), one of a few places (Pool), and things that are served one after
// another, for a length that is known when they come (Fifo).
#pragma once
#include "sim/core/units.h"
#include "sim/events/engine.h"
#include "sim/runtime/world.h"

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace steptime {

/// A number that only grows, and who waits until it is large enough: a gate, a latch, a version, a
/// barrier. Those who wait go on in the order in which they came.
class Counter : public Awaited {
 public:
  Counter(World& world, Name name) : Awaited(name), world_(&world) {}
  std::int64_t value() const { return value_; }
  /// Who waits for no more than this goes on at this instant, because of what runs now.
  void add(std::int64_t more = 1) {
    value_ += more;
    if (first_ != nullptr) wake(world_->present());
  }

  struct Wait {
    Counter& counter;
    std::int64_t least;
    Suspended program{};
    Wait* next = nullptr;

    bool await_ready() const { return counter.value_ >= least; }
    void await_suspend(Suspended waiting) {
      program = waiting;
      waiting.promise().thread->waits_for = &counter;
      waiting.promise().thread->needs = least;
      ++waiting.promise().thread->waits;
      (counter.last_ != nullptr ? counter.last_->next : counter.first_) = this;
      counter.last_ = this;
    }
    void await_resume() const {
      if (program) program.promise().thread->waits_for = nullptr;
    }
  };
  Wait at_least(std::int64_t number) { return {*this, number}; }

  std::string tell(std::int64_t needs) const override {
    return fmt::format("{}: has {} of {}", name().text(), value_, needs);
  }

 private:
  void wake(When when) {
    Wait* before = nullptr;
    for (Wait* wait = first_; wait != nullptr;) {
      Wait* const next = wait->next;
      if (wait->least > value_) {
        before = wait;
      } else {
        (before != nullptr ? before->next : first_) = next;
        if (last_ == wait) last_ = before;
        world_->wake(wait->program, when);
      }
      wait = next;
    }
  }

  World* world_;
  std::int64_t value_ = 0;
  Wait* first_ = nullptr;
  Wait* last_ = nullptr;
};

/// So many things, each of which comes at a time that may lie ahead; one program waits for the
/// last.
class Gather : public Awaited {
 public:
  Gather(World& world, Name name) : Awaited(name), world_(&world) {}
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;
  /// So many more are to come; what has come before is forgotten when none is missing.
  void expect(std::int64_t more) {
    if (missing_ == 0) last_ = {};
    missing_ += more;
  }
  std::int64_t missing() const { return missing_; }
  /// `many` of them come at `when`.
  void came(When when, std::int64_t many = 1) {
    last_ = later(last_, when);
    missing_ -= many;
    if (missing_ == 0 && program_) wake();
  }

  struct All {
    Gather& gather;
    bool await_ready() const { return false; }
    void await_suspend(Suspended program) {
      gather.program_ = program;
      program.promise().thread->waits_for = &gather;
      ++program.promise().thread->waits;
      if (gather.missing_ == 0) gather.wake();
    }
    void await_resume() const {}
  };
  /// Awaited: the program goes on when the last one comes.
  All all() { return {*this}; }

  std::string tell(std::int64_t) const override {
    return fmt::format("{}: {} missing", name().text(), missing_);
  }

 private:
  void wake() {
    const Suspended program = std::exchange(program_, {});
    program.promise().thread->waits_for = nullptr;
    world_->wake(program, later(last_, world_->present()));
  }

  World* world_;
  std::int64_t missing_ = 0;
  When last_{};
  Suspended program_{};
};

/// Threads, credits or locks: who waits gets one in the order of arrival.
class Pool {
 public:
  Pool(World& world, Name name, std::int64_t count) : free_(world, name) { free_.add(count); }
  Counter::Wait acquire() { return free_.at_least(++taken_); }
  void release() { free_.add(); }

 private:
  Counter free_;  ///< how many have ever been free
  std::int64_t taken_ = 0;
};

/// What serves one thing at a time, for a length that is known when it comes: without an event. Who
/// comes later must ask later.
class Fifo {
 public:
  struct Served {
    When start{};
    When end{};
  };
  /// What is there at `at` is served as soon as that is possible, for `length`.
  Served reserve(Engine& engine, When at, Duration length, Reason reason) {
    busy_ += length;
    const bool waits = free_.time > at.time;
    const When start = waits ? free_ : at;
    free_ = waits ? engine.lengthen(free_, length, reason) : engine.until(at, length, reason);
    return {start, free_};
  }
  When free() const { return free_; }
  /// It is taken until then, by others' work.
  void take(When until) { free_ = until; }
  /// Sum over what it has served.
  Duration busy() const { return busy_; }

 private:
  When free_{};
  Duration busy_{};
};

/// What is held of a memory, in bytes, and the most that ever was.
class Memory {
 public:
  void acquire(std::int64_t bytes) {
    held_ += bytes;
    if (held_ > peak_) peak_ = held_;
  }
  void release(std::int64_t bytes) { held_ -= bytes; }
  std::int64_t held() const { return held_; }
  std::int64_t peak() const { return peak_; }

 private:
  std::int64_t held_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace steptime
