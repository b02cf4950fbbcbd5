// Which part of a sweep's points this process has, and who else has the others.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace steptime {

/// The value of an environment variable; null when it is not set.
using Environment = std::function<const char*(const char* name)>;
Environment process_environment();

/// Every `count`-th point, from the `number`-th on; `number` counts from 1.
struct SweepShard {
  std::int64_t number = 1;
  std::int64_t count = 1;
  bool is_all() const { return count == 1; }
};

/// "2/8": the second of eight; "auto": what Slurm (arrays, tasks of srun), Open MPI or PMI say;
/// "auto/8": of eight, where Kubernetes, GNU parallel, HyperQueue or one of those say which. Throws
/// InputError.
SweepShard parse_shard(const std::string& text, const Environment& environment);

/// How many processes mpirun, or srun with PMI, started together; 1 where none of them did.
std::int64_t ranks_of(const Environment& environment);

}  // namespace steptime
