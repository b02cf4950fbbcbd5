// What a step's length and its plan tell: rates, memory, failures, and how much a prediction of
// this kind is worth.
#pragma once
#include "sim/experiment/experiment.h"
#include "sim/experiment/result.h"
#include "sim/step/step.h"

#include <string>
#include <vector>

namespace steptime {

/// What parts of every simulation extrapolate. `is_recurrence`: a step goes as the recurrence has
/// it, which some schedules plan for.
std::vector<std::string> extrapolated(const Experiment& e, bool is_recurrence);
/// The same of closed forms of collectives and servers; nothing where messages are played.
void extrapolate_collectives(const Experiment& e, const StepPlan& plan,
                             std::vector<std::string>& beyond);

/// What is known of such a step, and what follows from its length.
void assess(const Experiment& e, Result& r, std::vector<std::string> beyond);
/// The same, and what follows from the length of the step and its compute time. Throws RangeError
/// for a step of no length.
void derive(const Experiment& e, const StepPlan& plan, Result& r, std::vector<std::string> beyond);

}  // namespace steptime
