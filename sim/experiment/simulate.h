// Runs an experiment: in closed form, on the event engine, or client by client where workers
// differ.
#pragma once
#include "sim/core/limits.h"
#include "sim/events/timeline.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/result.h"

#include <string>
#include <vector>

namespace steptime {

/// Throws what simulate() would throw before it begins to play a training run; of other runs, does
/// nothing.
void check_training_run(const Experiment& experiment);

/// Runs the experiment. `buckets` gets those of a step in send order, of client 0's first one where
/// clients need not move in step. Throws InputError when it exceeds the range of simulated time,
/// and ModelFailure when the modelled system deadlocks.
Result simulate(const Experiment& experiment, std::vector<SentBucket>* buckets = nullptr,
                const OnProgress& on_progress = {});
/// The same with the event engine, drawing every step, up to where it fails.
Result simulate(const Experiment& experiment, Timeline& timeline,
                std::vector<SentBucket>* buckets = nullptr, const OnProgress& on_progress = {});

}  // namespace steptime
