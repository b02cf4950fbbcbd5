// Scripts that have a sweep done by a cluster: several points in each task, which can be started
// again when it was lost.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

struct SweepJob {
  std::string name;         ///< of the experiment
  std::int64_t points = 0;  ///< of the sweep
  std::int64_t tasks = 0;
  int threads = 1;                ///< of each task
  std::string folder;             ///< that all tasks see
  std::vector<std::string> args;  ///< of `sweep` and `merge`: config and what it says of rows
};

/// `system`: slurm, parallel (GNU parallel) or k8s. Throws InputError for another one.
std::string job_script(const std::string& system, const SweepJob& job);

}  // namespace steptime
