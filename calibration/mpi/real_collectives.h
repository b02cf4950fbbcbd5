// MPI's all-reduces and barriers for a rank of MXNet whose clock keeps pace with that on the wall:
// what it computes, copies and calls takes the time of the model, asleep; what it sends, it sends.
#pragma once
#include "calibration/mpi/world.h"
#include "sim/mxnet/communicators.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace steptime {

class MpiCollectives final : public RealCollectives {
 public:
  /// `most`: bytes of the largest key, rounded up to whole values. Every rank makes as many
  /// communicators in the same order.
  MpiCollectives(const MpiProcesses& world, std::int64_t most, std::int64_t communicators);
  ~MpiCollectives() override;

  std::unique_ptr<Medium> medium(Engine& clock, std::int32_t communicator) override;
  /// Throws InternalError when a sum is wrong.
  void run(Engine& clock) override;

 private:
  struct InFlight {
    std::int32_t communicator = 0;
    std::size_t values = 0;
    Callback done;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  /// One of the communicators.
  class OnOne final : public Medium {
   public:
    OnOne(MpiCollectives& all, std::int32_t communicator)
        : all_(all), communicator_(communicator) {}
    void start(Bytes bytes, Callback done) override { all_.start(communicator_, bytes, done); }

   private:
    MpiCollectives& all_;
    std::int32_t communicator_;
  };
  void start(std::int32_t communicator, Bytes bytes, Callback done);
  void check_sum(const InFlight& ended) const;

  const MpiProcesses& world_;
  std::vector<float> own_;
  std::vector<std::vector<float>> sums_;  ///< by communicator, of which each has one in flight
  std::vector<MPI_Comm> communicators_;   ///< the last one for barriers
  std::vector<InFlight> in_flight_;
};

}  // namespace steptime
