// A step of workers that all go through the same plan, and what its times are as a result.
#pragma once
#include "sim/experiment/runs/execution.h"
#include "sim/experiment/training_run.h"
#include "sim/step/step.h"

#include <span>
#include <vector>

namespace steptime {

/// The all-reduces of a step in closed form, or each by its messages, alone on the links; with what
/// these are for where buckets are wanted.
PlannedStep plan_step_of(const Experiment& e, const Wanted& wanted);

/// In the order in which they begin.
std::vector<SentBucket> sent_buckets(const PlannedStep& step, std::span<const BucketTimes> times);

/// What links carry whose all-reduces are messages, where these are not too many to be played for
/// that. `carried`: from one exchange to the next.
std::vector<LinkUse> links_of(const Experiment& e, const StepPlan& plan, const Cluster& cluster,
                              const Carried& carried);

/// What workers compute in a step that, at full speed, has the plan's passes: both take as much
/// longer.
void set_compute(const StepPlan& plan, double seconds, Result& result);

/// `is_recurrence`: the step goes as the recurrence has it.
Result result_of(const Experiment& e, const StepPlan& plan, const StepTimes& times,
                 bool is_recurrence);

}  // namespace steptime
