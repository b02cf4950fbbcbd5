// A communicator: the i-th call of every member is the same collective. It starts when all members
// have called it and there is a stream for it, in the order of the calls; at most `streams` are
// under way at once. What it then goes through is its medium's business: a time, flows on links, or
// messages. Source: MPI 3.1 section 5.1, "all processes in the communicator must call it in the
// same order".
#pragma once
#include "sim/core/units.h"
#include "sim/events/callback.h"
#include "sim/runtime/waits.h"
#include "sim/runtime/world.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace steptime {

/// What the collectives of a group go through, from when all members have called one.
class Medium {
 public:
  virtual ~Medium() = default;
  /// Starts a collective of so many bytes now, which takes `longer` than by itself. `done` is
  /// called when all members have the result: at that instant, because of it, and later than this
  /// returns.
  virtual void start(Bytes bytes, Duration longer, Callback done) = 0;
  /// When nothing is under way any more: throws InternalError for a collective that is not over,
  /// with the rank that waits, in which step, and for whom.
  virtual void expect_over() const {}
};

class Group {
 public:
  /// What looks at a group's calls. `call`: its number, from 0 on.
  class Watch {
   public:
    virtual ~Watch() = default;
    /// Returns by how much the collective takes longer than by itself.
    virtual Duration began(std::int64_t /*call*/, Bytes /*bytes*/) { return {}; }
    /// Its stream is free: nothing else has begun since.
    virtual void left(std::int64_t /*call*/) {}
    /// Behind that, but before members go on.
    virtual void ended(std::int64_t call, Bytes bytes, Time start) = 0;
  };

  Group(World& world, Name name, std::size_t members, std::unique_ptr<Medium> medium,
        std::int64_t streams = 1);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  std::size_t size() const { return calls_.size(); }
  /// Another kind of collective, in one order with all others; returns the number by which calls
  /// name it. That of the constructor is 0.
  std::size_t add(std::unique_ptr<Medium> medium);
  /// To be set before the first call; null: nobody looks.
  void watch(Watch* watch) { watch_ = watch; }

  /// The member's next call. It goes on at once, as a launch on a stream.
  void launch(std::size_t member, Bytes bytes, std::size_t medium = 0);
  /// Awaited: all that the member has launched is over.
  Counter::Wait over(std::size_t member) { return over_.at_least(calls_[member]); }
  /// Awaited: so many calls of all members are over.
  Counter::Wait ended(std::int64_t calls) { return over_.at_least(calls); }
  /// Awaited: the member's next call, to its end.
  Task call(std::size_t member, Bytes bytes, std::size_t medium = 0);
  /// What the member has called so far.
  std::int64_t calls(std::size_t member) const { return calls_[member]; }
  const Medium& medium() const { return *mediums_.front(); }

 private:
  struct Call {
    Bytes bytes;
    std::size_t medium = 0;
    std::size_t come = 0;
    Time start{};
    bool is_over = false;
  };
  /// Calls that are over; says who has not called.
  class Over final : public Counter {
   public:
    Over(Group& group, World& world, Name name) : Counter(world, name), group_(group) {}
    std::string tell(std::int64_t needs) const override;

   private:
    Group& group_;
  };

  void start_next();
  void end(std::uint64_t call);

  World& world_;
  std::vector<std::unique_ptr<Medium>> mediums_;
  std::int64_t streams_;
  Watch* watch_ = nullptr;
  std::vector<std::int64_t> calls_;  ///< of every member
  std::deque<Call> open_;            ///< calls that are not over, and those behind them
  std::int64_t first_ = 0;           ///< call of the first one in it
  std::int64_t started_ = 0;
  std::int64_t under_way_ = 0;
  Over over_;
};

}  // namespace steptime
