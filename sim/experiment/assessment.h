// What a step's length and its plan tell: rates, memory, failures, and how much a prediction of
// this kind is worth.
#pragma once
#include "sim/experiment/experiment.h"
#include "sim/experiment/result.h"
#include "sim/experiment/track_record.h"
#include "sim/step/step.h"

#include <string>
#include <vector>

namespace steptime {

/// Why the GPUs of a cluster are not those of a generation that a workload was timed on: "" where
/// they may be.
std::string unlike_gpus(KindWord worked, const Cluster& cluster);

/// What parts of a simulation extrapolate: closed forms of collectives and servers only where no
/// messages are played. `is_recurrence`: a step goes as the recurrence has it, which some schedules
/// plan for.
std::vector<std::string> extrapolated(const Experiment& e, const StepPlan& plan,
                                      bool is_recurrence);

/// A result as the record of published steps looks at it: what its domain and its interval depend
/// on, but for reasons that the simulation itself gives.
Prediction prediction_of(const Experiment& e, const Result& r);

/// The interval, or a wider one where the median of the seeds that were played lies beyond it.
Interval with_median(Interval interval, const Result& result);

/// What is known of such a step.
void assess(const Experiment& e, Result& r, std::vector<std::string> beyond);
/// The same, with what its parts extrapolate, and what follows from the length of the step and its
/// compute time. Throws RangeError for a step of no length.
void derive(const Experiment& e, const StepPlan& plan, Result& r, bool is_recurrence,
            std::vector<std::string> beyond = {});

}  // namespace steptime
