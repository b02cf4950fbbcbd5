// A training run: its programs, played on one clock.
#pragma once
#include "sim/training/learner.h"
#include "sim/training/plan.h"

#include <cstdint>

namespace steptime {

/// Throws what play_programs would throw before it begins to play.
void check_programs(const TrainingPlan& plan);
/// `learner`, `timeline` and `causes`, which are not to have been used before, may be null. Throws
/// InputError when the run is too large, and ModelFailure when its programs wait for each other.
TrainingTimes play_programs(const TrainingPlan& plan, std::int64_t seed, Learner* learner,
                            const Convergence* convergence, std::int64_t evaluate_samples,
                            Timeline* timeline = nullptr, Causes* causes = nullptr);

}  // namespace steptime
