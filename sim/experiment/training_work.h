// How much there is to play in a training run.
#pragma once
#include "sim/experiment/experiment.h"
#include "sim/training/plan.h"

#include <cstdint>

namespace steptime {

/// Events of all its steps with so many seeds, about, at 60 to 900 ns each: a worker's speed, an
/// all-reduce and a message are one, two and five.
double training_events(const Experiment& experiment, const TrainingPlan& plan, std::int64_t seeds);

/// Throws PlacedError for a run that takes far longer than ten minutes, or whose messages with
/// servers do not fit into memory.
void check_training_work(const Experiment& experiment, const TrainingPlan& plan,
                         std::int64_t seeds);

}  // namespace steptime
