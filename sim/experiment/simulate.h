// Runs an experiment, as its parts say.
#pragma once
#include "sim/experiment/experiment.h"
#include "sim/experiment/result.h"
#include "sim/experiment/runs/execution.h"

#include <vector>

namespace steptime {

/// Throws what simulate() would throw before it begins to play a training run; of other runs, does
/// nothing.
void check_training_run(const Experiment& experiment);

/// Runs the experiment. Throws InputError when it exceeds the range of simulated time, and
/// ModelFailure when the modelled system deadlocks.
Result simulate(const Experiment& experiment, const Wanted& wanted);
inline Result simulate(const Experiment& experiment, std::vector<SentBucket>* buckets = nullptr,
                       const OnProgress& on_progress = {}) {
  return simulate(experiment, {.buckets = buckets, .on_progress = on_progress});
}
inline Result simulate(const Experiment& experiment, Timeline& timeline,
                       std::vector<SentBucket>* buckets = nullptr,
                       const OnProgress& on_progress = {}) {
  return simulate(experiment,
                  {.timeline = &timeline, .buckets = buckets, .on_progress = on_progress});
}

}  // namespace steptime
