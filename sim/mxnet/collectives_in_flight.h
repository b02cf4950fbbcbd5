// The all-reduces of an MPI world that are under way at the same time, and what they share.
#pragma once
#include "sim/core/units.h"
#include "sim/events/callback.h"

#include <cstdint>

namespace steptime {

class Engine;

class CollectivesInFlight {
 public:
  virtual ~CollectivesInFlight() = default;
  /// Starts the all-reduce of a key now, when all ranks have its data. `done` is called when all
  /// have the result, later than this returns.
  virtual void start(std::int32_t key, Callback done) = 0;
  /// How long the all-reduce of a key takes at least, whatever else is in flight.
  virtual Duration least(std::int32_t key) const = 0;
  /// When nothing is under way any more: throws InternalError when one is not over, with the rank
  /// that waits, in which step, and for whom.
  virtual void expect_over() const {}
  /// Whether both know MpiWorld::kBarrier, too; else a barrier takes a time of its own.
  virtual bool has_barrier() const { return false; }
};

/// All-reduces that other programs take part in, for real, while the clock of one rank keeps pace
/// with that on the wall.
class RealCollectives : public CollectivesInFlight {
 public:
  /// Runs each event at its time on the wall, and what `start` was given when it is through;
  /// returns when nothing is left to happen.
  virtual void run(Engine& clock) = 0;
};

}  // namespace steptime
