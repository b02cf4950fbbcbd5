// A communicator: the i-th call of every member is the same collective. It starts when all members
// have called it and there is a stream for it, in the order of the calls; at most `streams` are
// under way at once. What it then goes through is its medium's business: a time, flows on links, or
// messages. Where members' calls are for different things, MPI leaves open what happens (a hang, a
// truncated message, sums of unlike tensors): here that collective never starts. Source: MPI 3.1
// section 5.1, "all processes in the communicator must call it in the same order".
#pragma once
#include "sim/core/units.h"
#include "sim/events/callback.h"
#include "sim/events/callee.h"
#include "sim/runtime/waits.h"
#include "sim/runtime/world.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/circular_buffer.hpp>

namespace steptime {

/// What the collectives of a group go through, from when all members have called one.
class Medium {
 public:
  virtual ~Medium() = default;
  /// Starts a collective of so many bytes now. `done` is called when all members have the result:
  /// at that instant, because of it, and later than this returns.
  virtual void start(Bytes bytes, Callback done) = 0;
  /// How long a collective takes at least, whatever else is under way.
  virtual Duration least(Bytes) const { return {}; }
  /// When nothing is under way any more: throws InternalError for a collective that is not over,
  /// with the rank that waits, in which step, and for whom.
  virtual void expect_over() const {}
};

class Group final : public Callee {
 public:
  /// What a call is for.
  struct Subject {
    Bytes bytes;
    std::int64_t number = 0;  ///< tells things of one size apart
    std::size_t medium = 0;   ///< which of the group's mediums it goes through
    friend bool operator==(const Subject&, const Subject&) = default;
  };
  /// What looks at a group's calls. `call`: its number, from 0 on.
  class Watch {
   public:
    virtual ~Watch() = default;
    virtual void began(std::int64_t /*call*/, Bytes /*bytes*/) {}
    /// Before members go on; what waited for the stream has begun.
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
  /// The same, made at `when`, which may lie ahead; `returns` is called when the collective is
  /// over, where it calls anything. Returns the number of the call.
  std::uint64_t launch(std::size_t member, Subject subject, Time when, Callback returns);
  Time returns_not_before(std::uint64_t number) const override;
  /// Awaited: all that the member has launched is over.
  Counter::Wait over(std::size_t member) { return over_.at_least(calls_[member]); }
  /// Awaited: so many calls of all members are over.
  Counter::Wait ended(std::int64_t calls) { return over_.at_least(calls); }
  /// Awaited: the member's next call, to its end.
  Task call(std::size_t member, Bytes bytes);
  const Medium& medium() const { return *mediums_.front(); }
  /// How many calls the member has made.
  std::int64_t calls(std::size_t member) const { return calls_[member]; }

  /// A call of a member that is not over.
  struct Open {
    std::size_t member = 0;
    std::int64_t call = 0;
    Subject subject;
  };
  /// Whether there are any.
  bool has_open() const { return !open_.empty(); }
  /// By call and member.
  std::vector<Open> open() const;
  /// What such a call is for; none: the member has not made it, or it is over.
  std::optional<Subject> called(std::int64_t call, std::size_t member) const;
  /// Of a call that has begun, to its end.
  const Subject& subject(std::int64_t call) const { return at(call).subject; }

 private:
  struct Call {
    Subject subject;
    std::size_t come = 0;
    Time begins{};  ///< not before
    Duration least{};
    bool is_over = false;
    std::vector<std::pair<std::size_t, Subject>> others{};  ///< members that called for another
    std::vector<Callback> returns{};                        ///< by member; empty: of none
  };
  /// Calls that are over; says who has not called.
  class Over final : public Counter {
   public:
    Over(Group& group, World& world, Name name) : Counter(world, name), group_(group) {}
    std::string tell(std::int64_t needs) const override;

   private:
    Group& group_;
  };

  Call& at(std::int64_t call) { return open_[static_cast<std::size_t>(call - first_)]; }
  const Call& at(std::int64_t call) const { return open_[static_cast<std::size_t>(call - first_)]; }
  void start_next();
  void begin(std::int64_t number);
  void end(std::uint64_t number);

  World& world_;
  std::vector<std::unique_ptr<Medium>> mediums_;
  std::int64_t streams_;
  Watch* watch_ = nullptr;
  std::vector<std::int64_t> calls_;    ///< how many calls each member has made
  boost::circular_buffer<Call> open_;  ///< calls that are not over, and those behind them
  std::int64_t first_ = 0;             ///< call of the first one in it
  std::int64_t started_ = 0;
  std::int64_t under_way_ = 0;
  Over over_;
};

}  // namespace steptime
