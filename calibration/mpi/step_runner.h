// One training step for real: the main thread computes, a communication thread all-reduces what is
// ready, in the order of the schedule's plan or as its policy says.
#pragma once
#include "calibration/mpi/all_reduce.h"
#include "calibration/mpi/world.h"
#include "sim/step/schedule.h"
#include "sim/step/step.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace steptime {

/// How a rank spends the time of its compute.
enum class ComputeAs {
  kSleep,  ///< asleep until absolute deadlines: disturbs nobody
  kWork,   ///< adding up numbers until the deadline: takes a processor, as training on a CPU does
};

class StepRunner {
 public:
  /// All must outlive this. `schedule` decides online where it has a policy; rank 0's decisions are
  /// then told to all ranks, as Horovod's coordinator does.
  StepRunner(const MpiProcesses& world, AllReduce& all_reduce, const Schedule& schedule,
             StepPlan plan, ComputeAs compute);
  /// Seconds of the step on the slowest rank.
  double run();
  /// What the communication threads of the steps after the first waited for a processor, in s.
  double communication_waited_s() const { return waited_s_; }

 private:
  void compute(Clock::time_point start);
  void communicate_in_order();
  void communicate_as_decided();
  std::vector<std::int32_t> decide();
  void send(std::span<const std::int32_t> buckets);
  void wait_until_ready(std::size_t buckets);
  Time now() const;

  const MpiProcesses& world_;
  AllReduce& all_reduce_;
  StepPlan plan_;
  ComputeAs compute_;
  std::unique_ptr<Policy> policy_;
  const Clock::time_point epoch_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t ready_ = 0;  ///< the first buckets of the plan, whose gradients exist
  double waited_s_ = 0;
  bool has_run_ = false;
  std::size_t told_ = 0;  ///< how many of the `ready_` ones the policy knows of
};

}  // namespace steptime
