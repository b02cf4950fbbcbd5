// Scripts that have a sweep done by a cluster: several points in each task, which can be started
// again when it was lost.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

struct SweepJob {
  std::string name;         ///< name of the experiment
  std::int64_t points = 0;  ///< points that the sweep has
  std::int64_t tasks = 0;
  int threads = 1;     ///< threads that each task runs
  std::string folder;  ///< a folder that all tasks see
  /// Arguments of `sweep` and `merge`: the config and what it says of rows.
  std::vector<std::string> args;
};

/// `system`: slurm, parallel (GNU parallel) or k8s. Throws InputError for another one.
std::string job_script(const std::string& system, const SweepJob& job);

}  // namespace steptime
