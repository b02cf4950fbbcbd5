// The clock of one rank. A rank hears of the others only when an MPI call returns, so in between it
// may run ahead of the world's clock on a clock of its own, which holds few events at a time.
//
// It runs up to the earliest time at which one of its calls may return and then waits for the
// world: its events run in the order in which a clock for all ranks would run them.
#pragma once
#include "sim/core/units.h"
#include "sim/events/engine.h"
#include "sim/mxnet/mpi_world.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace steptime {

class RankClock {
 public:
  /// `runs_ahead`: has a clock of its own; else it is the world's.
  RankClock(Engine& clock, MpiWorld& world, std::int32_t rank, bool runs_ahead)
      : shared_(clock), world_(world), rank_(rank), runs_ahead_(runs_ahead) {}
  RankClock(const RankClock&) = delete;
  RankClock& operator=(const RankClock&) = delete;

  /// Where the rank's events are scheduled.
  Engine& events() { return runs_ahead_ ? own_ : shared_; }
  Time now() const { return runs_ahead_ ? own_.now() : shared_.now(); }

  /// The rank calls a collective; `returns` is an event of the rank.
  void call(std::int32_t communicator, MpiWorld::Subject subject, MpiWorld::Cost cost,
            Callback returns);
  /// Runs ahead; to be called when the rank's first events are scheduled.
  void start() { run({}); }

 private:
  static constexpr Time kNever = Time::max();

  struct Call {
    std::int32_t communicator = 0;
    std::int64_t number = 0;
    Callback returns;
    Time earliest = kNever;  ///< of its return; kNever when it has returned
  };

  void returned(std::size_t call);
  /// `reached`: the moment of the world's clock, up to which all events may run.
  void run(Moment reached);
  void find_earliest_return();
  void wake_at(Moment next);

  Engine& shared_;
  Engine own_;
  MpiWorld& world_;
  std::int32_t rank_;
  bool runs_ahead_;
  std::vector<Call> calls_;  ///< outstanding ones, and free places
  std::size_t outstanding_ = 0;
  Time earliest_return_ = kNever;
  Moment wakes_{kNever};
  EventId wake_{};
};

}  // namespace steptime
