// What is kept of a training run while it goes on: which of its steps are reported, what client 0
// sent in one of them, and the curve of what is learnt.
#pragma once
#include "sim/core/units.h"
#include "sim/events/causes.h"
#include "sim/events/engine.h"
#include "sim/training/learner.h"
#include "sim/training/plan.h"
#include "sim/training/reported_steps.h"
#include "sim/training/sent_step.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace steptime {

class Record {
 public:
  /// `layers_wait`: a step's values come in the next one. `learner`: null: nothing is learnt. All
  /// must outlive the record.
  Record(const TrainingPlan& plan, Engine& engine, std::size_t workers, bool layers_wait,
         const Learner* learner);

  // Steps are counted from 0.
  /// Whether a worker plays a step, which it then begins.
  bool wants(std::int64_t step) const { return steps_.wants(step); }
  void begins(std::int64_t step) { steps_.begun(step); }
  /// Whether the step is one of those that sums over steps count.
  bool counts(std::int64_t step) const { return steps_.counts(step); }
  /// A worker's forward pass waits for samples.
  void waits_for_input(std::int64_t step, Duration time);
  /// It computes so long, in a step that began at `start`.
  void computes(std::int32_t worker, std::int64_t step, Time start, Duration time);
  /// An all-reduce of client 0, of buckets that were ready at `ready` and began at `start`, is
  /// over.
  void reduced(std::span<const std::int32_t> buckets, Bytes bytes, Time ready, Time start);
  void reduced_elsewhere() { ++reductions_; }
  /// A bucket is back at a worker.
  void came(std::int32_t worker, std::int32_t bucket, Time end);
  /// What a worker has learnt in so many steps may be tested.
  void learnt(std::int32_t worker, std::int64_t steps);
  /// A worker has ended a step at `end`; `led`: what led to it, or to a later time.
  void ended(std::int32_t worker, std::int64_t step, Time end, When led);

  std::int64_t reductions() const { return reductions_; }
  bool layers_wait() const { return layers_wait_; }
  const ReportedSteps& steps() const { return steps_; }
  SumOfTimes waited_for_input() const { return steps_.sum(waited_); }
  /// Of all workers in a step.
  Duration longest_compute(std::int64_t step) const {
    return computed_[static_cast<std::size_t>(step)];
  }
  /// What has been kept, into the run's times.
  void tell(TrainingTimes& times);
  /// And what its servers did, which have taken or sent so many messages with bytes.
  void tell(TrainingTimes& times, const Servers& servers, std::int64_t messages);

 private:
  const TrainingPlan& plan_;
  Engine& engine_;
  bool layers_wait_;
  const Learner* learner_;
  ReportedSteps steps_;
  SentStep sent_;
  std::vector<std::int64_t> learnt_;  ///< steps, by every worker
  std::vector<SumOfTimes> waited_;    ///< for input, by step: the sum over all workers
  std::vector<Duration> computed_;    ///< by step: the longest of all workers
  std::vector<CurvePoint> curve_;
  std::int64_t reductions_ = 0;
  bool counts_ = true;        ///< what client 0 all-reduces in its present step
  double all_reduces_ = 0;    ///< all-reduces that client 0 has made in the steps that count
  double reduce_busy_s_ = 0;  ///< what these take by themselves
};

}  // namespace steptime
