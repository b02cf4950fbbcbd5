// A training run: its programs, played on one clock, by itself or beside others.
#pragma once
#include "sim/events/causes.h"
#include "sim/events/timeline.h"
#include "sim/runtime/world.h"
#include "sim/training/fleet.h"
#include "sim/training/learner.h"
#include "sim/training/plan.h"
#include "sim/training/record.h"
#include "sim/training/roads.h"
#include "sim/training/worker.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace steptime {

/// A run that is ready to be played on a world.
class ReadyRun {
 public:
  /// `learner` and `timeline` may be null; all must outlive it.
  ReadyRun(World& world, const TrainingPlan& plan, std::int64_t seed, Learner* learner = nullptr,
           Timeline* timeline = nullptr);
  ReadyRun(const ReadyRun&) = delete;
  ReadyRun& operator=(const ReadyRun&) = delete;

  /// To be called when the first worker ends a step.
  void on_step(std::function<void()> report) { training_.on_step = std::move(report); }
  /// How much of it is played, 0 to 1.
  double share() const;
  /// Whether all of its steps that are reported are over.
  bool has_reported() const;
  /// Throws ModelFailure when its programs wait for each other.
  void expect_over() const { fleet_.expect_over(); }
  /// When the world has run. `causes`: of the world, or null.
  TrainingTimes times(const Causes* causes);

 private:
  /// Of a mean step, which takes `step_s`: the slowest client's where they wait for each other,
  /// else the mean.
  double compute_s(double step_s) const;

  World& world_;
  const TrainingPlan& plan_;
  Record record_;
  TrainingRun training_;
  std::unique_ptr<Roads> roads_;
  Fleet fleet_;
  double work_;
};

/// Throws what play_programs would throw before it begins to play.
void check_programs(const TrainingPlan& plan);
/// `learner`, `timeline` and `causes`, which are not to have been used before, may be null. Throws
/// InputError when the run is too large, and ModelFailure when its programs wait for each other.
TrainingTimes play_programs(const TrainingPlan& plan, std::int64_t seed, Learner* learner = nullptr,
                            Timeline* timeline = nullptr, Causes* causes = nullptr);

}  // namespace steptime
