// A result as the record of published steps looks at it.
#pragma once
#include "sim/experiment/experiment.h"
#include "sim/experiment/result.h"
#include "sim/experiment/track_record.h"

#include <string>
#include <vector>

namespace steptime {

/// What the domain and the interval of a result depend on; `beyond`: reasons that the simulation
/// itself gives.
Prediction prediction_of(const Experiment& experiment, const Result& result,
                         std::vector<std::string> beyond);

/// The interval, or a wider one where the median of the seeds that were played lies beyond it.
Interval with_median(Interval interval, const Result& result);

}  // namespace steptime
