// MPI's all-reduces and barriers for a rank of MXNet whose clock keeps pace with that on the wall:
// what it computes, copies and calls takes the time of the model, asleep; what it sends, it sends.
#pragma once
#include "calibration/mpi/world.h"
#include "sim/mxnet/collectives_in_flight.h"

#include <cstdint>
#include <vector>

namespace steptime {

class MpiCollectives final : public RealCollectives {
 public:
  /// `bytes` by key, rounded up to whole values; key k uses communicator k modulo `communicators`.
  /// Every rank makes as many in the same order.
  MpiCollectives(const MpiProcesses& world, const std::vector<std::int64_t>& bytes,
                 std::int64_t communicators);
  ~MpiCollectives() override;

  void start(std::int32_t key, Callback done) override;
  Duration least(std::int32_t /*key*/) const override { return Duration{}; }
  bool has_barrier() const override { return true; }
  /// Throws InternalError when a sum is wrong.
  void run(Engine& clock) override;

 private:
  struct InFlight {
    std::int32_t key = 0;
    Callback done;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void check_sum(std::int32_t key) const;

  const MpiProcesses& world_;
  std::vector<std::vector<float>> own_;  ///< by key
  std::vector<std::vector<float>> sums_;
  std::vector<MPI_Comm> communicators_;  ///< the last one for barriers
  std::vector<InFlight> in_flight_;
};

}  // namespace steptime
