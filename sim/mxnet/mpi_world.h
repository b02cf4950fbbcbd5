// Blocking collectives of MPI: ranks, communicators, and what happens when their orders differ.
//
// The i-th collective of a communicator is, at each rank, the i-th that the rank calls on it. It
// starts when every rank has called it and the one before it on this communicator has ended.
// Collectives of different communicators run at the same time and share what they run on.
//
// When the i-th calls of two ranks are for different tensors, MPI leaves open what happens (a
// hang, a truncated message, sums of unlike tensors); here that collective never starts.
// Source: MPI 3.1 standard, section 5.1 "all processes in the communicator must call it in the same
// order"; 000 section 2.2.
#pragma once
#include "sim/core/units.h"
#include "sim/events/callback.h"
#include "sim/events/callee.h"
#include "sim/events/engine.h"
#include "sim/mxnet/collectives_in_flight.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace steptime {

class MpiWorld final : public Callee {
 public:
  /// The key of a barrier.
  static constexpr std::int32_t kBarrier = -1;

  /// What a collective is for: the n-th time that this key is reduced.
  struct Subject {
    std::int32_t key = kBarrier;
    std::int64_t step = 0;
    friend bool operator==(const Subject&, const Subject&) = default;
  };
  /// Is told of collectives that all ranks have called.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void collective_started(Subject subject) = 0;
    virtual void collective_ended(Subject subject) = 0;
  };
  /// A call that did not return.
  struct Stuck {
    std::int32_t rank = 0;
    std::int32_t communicator = 0;
    std::int64_t number = 0;  ///< of the call on this communicator
    Subject subject{};
  };

  /// `barrier`: how long a barrier takes, which moves no data. All references must outlive this.
  MpiWorld(Engine& clock, std::int32_t ranks, std::int32_t communicators, Duration barrier,
           CollectivesInFlight& collectives, Listener& listener);

  std::int32_t ranks() const { return ranks_; }
  /// A rank calls at `at`, which is now or later; `returns` is called when the collective has
  /// ended. Returns a name of the call, for returns_not_before().
  std::uint64_t call(std::int32_t rank, std::int32_t communicator, Subject subject, Time at,
                     Callback returns);
  Time returns_not_before(std::uint64_t call) const override;

  /// Calls that have not returned, by communicator, number and rank.
  std::vector<Stuck> stuck() const;
  /// What the call of `rank` with this number is for, when it has been made.
  std::optional<Subject> called(std::int32_t communicator, std::int64_t number,
                                std::int32_t rank) const;

 private:
  struct Call {
    Subject subject;
    Callback returns;  ///< .call is null until the rank has called
  };
  struct Collective {
    std::vector<Call> calls;  ///< by rank
    std::int32_t missing = 0;
    bool mismatch = false;  ///< with the first caller's subject, once and for all
    Subject subject{};
    Duration least{};  ///< it takes no less
    Time begins{};     ///< no earlier than the latest call
  };
  struct Communicator {
    std::deque<std::uint32_t> open;  ///< slots of the collectives that have not ended, in order
    std::int64_t ended = 0;
    std::vector<std::int64_t> calls;  ///< by rank: how many were made
    bool runs = false;
  };

  /// The name of a call: the communicator above the number of the call on it.
  static constexpr int kNumberBits = 40;

  void start_next(std::int32_t communicator);
  void begin(std::int32_t communicator);
  void end(std::int32_t communicator);

  Engine& clock_;
  std::int32_t ranks_;
  Listener& listener_;
  Duration barrier_;
  CollectivesInFlight& collectives_;
  std::vector<Communicator> communicators_;
  std::vector<Collective> slots_;
  std::vector<std::uint32_t> free_slots_;
};

}  // namespace steptime
