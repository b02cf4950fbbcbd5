// One training step of synchronous SGD: forward pass, backward pass, and the all-reduces of the
// gradient buckets on one communication channel, in the order of the plan. The next step starts
// when both the backward pass and the last all-reduce are over, and its samples are there: the
// input pipeline makes them ready beside what runs, one step's after the other's.
//
// Where compute and all-reduces cost each other something, both go on more slowly as long as they
// run side by side.
//
// Two executions of the same rules: closed_step, the recurrence of 004 equations 6 to 8, and the
// program of a worker that stands for all (sim/training/programs.h). They agree to the picosecond;
// the second one is the first one's oracle and draws the timeline.
#pragma once
#include "sim/collective/played_parts.h"
#include "sim/core/limits.h"
#include "sim/core/units.h"
#include "sim/events/causes.h"
#include "sim/step/schedule.h"
#include "sim/workload/workload.h"

#include <cstdint>
#include <span>
#include <vector>

namespace steptime {

/// How long a worker computes in a step: sums over its layers.
struct PassTimes {
  Duration forward{};
  Duration backward{};
};
inline PassTimes passes_of(const Workload& workload) {
  return {workload.trace.forward(), workload.trace.backward()};
}

/// All that a step depends on: compute times, and buckets in send order.
struct StepPlan {
  Duration forward{};
  Duration backward{};
  std::vector<Bucket> buckets;
  bool after_backward = false;     ///< every bucket waits for the end of the backward pass
  std::vector<Slowdown> beside{};  ///< by bucket: while it travels; none: it costs nothing
  Duration input{};                ///< what the input pipeline takes for the samples of a step
  double forward_wait = 0;         ///< share of the pass in which the GPU waits for the host
  double backward_wait = 0;
  std::vector<PlayedParts> played{};  ///< by bucket: what its cost is for; none: a closed form
};

/// `workers` == 1 communicates nothing. `beside_kernels`: the collective on links as they are while
/// kernels run, where these slow it down. Throws InputError when a step would exceed the range of
/// simulated time.
StepPlan plan_step(const Workload& workload, const PassTimes& passes,
                   std::span<const GradientUnit> units, const BucketPlan& plan,
                   const Collective& collective, std::int64_t workers,
                   const Collective* beside_kernels = nullptr);
inline StepPlan plan_step(const Workload& workload, std::span<const GradientUnit> units,
                          const BucketPlan& plan, const Collective& collective,
                          std::int64_t workers, const Collective* beside_kernels = nullptr) {
  return plan_step(workload, passes_of(workload), units, plan, collective, workers, beside_kernels);
}

/// What the input pipeline of a node of so many GPUs takes for the samples of one step; 0: it never
/// holds up a step.
Duration input_time(const Workload& workload, std::int64_t gpus_per_node);

/// Throws InputError when a step of this length would exceed the range of simulated time.
void check_step_length(double seconds);

struct StepTimes {
  Duration step{};                ///< from the start of the forward pass to the start of the next
  Duration comm_busy{};           ///< sum over the all-reduces
  Duration exposed_comm{};        ///< what is longer than `compute`, but for the input
  std::uint64_t fingerprint = 0;  ///< hash over compute and the ends of buckets, one for each step
  Duration exposed_input{};       ///< what the next step waits for its samples only
  Duration compute{};             ///< forward and backward pass, of the slowest worker
  bool operator==(const StepTimes&) const = default;
};

/// The times of one step.
StepTimes closed_step(const StepPlan& plan);

/// When a bucket is ready, and travels, after the start of the step.
struct BucketTimes {
  Duration ready{};
  Duration start{};
  Duration end{};
};
std::vector<BucketTimes> bucket_times(const StepPlan& plan);

/// The same times of a step that has been played, of which it waited `input` for samples only.
StepTimes played_step(const StepPlan& plan, std::span<const BucketTimes> buckets, Duration step,
                      Duration input);

/// Why the time of the step passes: the way back from its end, which adds up to it. `collective`:
/// what the buckets' costs are of.
std::vector<Cause> attribution(const StepPlan& plan, const Collective& collective);

/// The fingerprint of a step with these compute times and bucket ends.
std::uint64_t step_fingerprint(Duration forward, Duration backward, std::span<const Duration> ends);

/// Replaces the cost of every bucket by its time at message fidelity, and says what that is for
/// where it `tells_parts`.
void play_buckets(StepPlan& plan, const Cluster& cluster, const Collective& collective,
                  bool tells_parts = false, const OnProgress& on_progress = {});

}  // namespace steptime
