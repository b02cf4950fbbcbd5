// Which steps the clients of a run play, and who hears how their ranks go on in these: those that
// wait for each other all play what the record of one asks for (rank_record.h); others play steps
// of their own (apart_clients.h).
#pragma once
#include "sim/core/units.h"
#include "sim/events/engine.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace steptime {

class Store;

class ClientSteps {
 public:
  virtual ~ClientSteps() = default;

  // Steps are counted from 0.
  /// Whether a rank plays a step, which it then begins. All ranks of a client have one answer.
  virtual bool wants_step(std::int64_t step) = 0;
  /// Whether the staleness of what a client pushes in a step is to be told.
  virtual bool counts(std::int64_t /*step*/) const { return true; }
  /// The values on the servers; null: nothing is learnt there.
  virtual Store* store() { return nullptr; }

  // Of a rank, or of a process that drives a client's GPUs:
  /// A GPU has waited so long for nothing but a step's samples.
  virtual void missed_samples(std::int32_t /*rank*/, std::int64_t /*step*/, Duration /*time*/) {}
  /// The first segment of a backward pass begins.
  virtual void forward_pass_ended(std::int32_t /*rank*/, std::int64_t /*step*/) {}
  /// It has a key's new weights.
  virtual void updated(std::int32_t /*rank*/, std::int32_t /*key*/, std::int64_t /*step*/) {}
  /// Any operation of a step has ended, at the clock's time.
  virtual void operation_ended(std::int32_t rank, std::int64_t step) = 0;
};

/// So many of each client, and when the last operation of each ended, of any.
class FirstSteps final : public ClientSteps {
 public:
  FirstSteps(const Engine& clock, std::int64_t steps)
      : clock_(clock), ends_(static_cast<std::size_t>(steps)) {}
  bool wants_step(std::int64_t step) override { return step < std::ssize(ends_); }
  void operation_ended(std::int32_t /*rank*/, std::int64_t step) override {
    ends_[static_cast<std::size_t>(step)] = since_start(clock_.now());
  }
  const std::vector<Duration>& ends() const { return ends_; }

 private:
  const Engine& clock_;
  std::vector<Duration> ends_;
};

}  // namespace steptime
