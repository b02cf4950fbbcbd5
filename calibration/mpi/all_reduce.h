// An all-reduce of float32 values for real: MPI's own, or the messages of a program of
// sim/collective/, step by step.
#pragma once
#include "calibration/mpi/world.h"
#include "sim/collective/collective.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace steptime {

class AllReduce {
 public:
  /// `collective`: whose programs are played; null: MPI's own MPI_Iallreduce. Throws InputError for
  /// a collective that is known by its time only.
  AllReduce(const MpiProcesses& world, std::shared_ptr<const Collective> collective);
  /// Sums `bytes`, rounded up to whole values, over the ranks; at the end all have the sum. The
  /// data is rank + 1 in each value; throws InternalError when the first and last sum are wrong.
  void run(std::int64_t bytes);

 private:
  void play(const Program& program);
  const MpiProcesses& world_;
  std::shared_ptr<const Collective> collective_;
  std::vector<float> data_;
  std::vector<float> sums_;
  std::vector<float> arrived_;
};

}  // namespace steptime
