// The result of a run of programs, for every seed.
#pragma once
#include "sim/experiment/runs/execution.h"
#include "sim/experiment/training_run.h"

#include <string>
#include <vector>

namespace steptime {

/// The figures of what was played; `beyond`: reasons to doubt them beside those of the experiment.
Result result_of_training(const Experiment& e, const TrainingPlan& plan, TrainingOutcome played,
                          const Wanted& wanted, std::vector<std::string> beyond = {});

}  // namespace steptime
