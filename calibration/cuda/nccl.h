// NCCL's collectives over all GPUs of this machine, one thread for all of them.
#pragma once
#include "calibration/cuda/measure.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <nccl.h>
#include <string>
#include <vector>

namespace steptime {

/// "2.28.9"
std::string nccl_version();

class NcclOperations {
 public:
  /// Sizes are at most `largest` B. Throws MissingError with fewer than two GPUs.
  explicit NcclOperations(std::int64_t largest);
  std::vector<TimedOperation> all();

 private:
  using Communicator = std::unique_ptr<ncclComm, FreedBy<ncclCommDestroy>>;
  struct Rank {
    Communicator communicator;
    Stream stream;
    GpuMemory from;
    GpuMemory into;
  };
  using Call = ncclResult_t (*)(const Rank& rank, std::size_t values);
  void start(Call call, std::int64_t bytes);
  void wait();
  double seconds(Call call, std::int64_t bytes);

  std::int64_t largest_;
  std::vector<Rank> ranks_;
  Compute compute_;
};

}  // namespace steptime
