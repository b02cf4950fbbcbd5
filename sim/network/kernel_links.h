// Links inside nodes that are slower while kernels run: those that a GPU's ways to the other GPUs
// of its node cross, as long as its kernels run. What else crosses them is as slow.
#pragma once
#include "sim/network/machine.h"
#include "sim/network/network.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace steptime {

class KernelLinks {
 public:
  /// `factor`: how many times as long a byte takes meanwhile. Network and machine must outlive it.
  KernelLinks(Network& network, const Machine& machine, double factor)
      : network_(network), machine_(machine), factor_(factor) {}
  /// Kernels of the worker run from now on, or no longer do; in turn.
  void set(Endpoint worker, bool run);

 private:
  struct Link {
    std::int64_t gpus = 0;  ///< whose kernels run
    double rate = 0;        ///< without kernels, B/s
  };
  Network& network_;
  const Machine& machine_;
  double factor_;
  std::unordered_map<ChannelId, Link> links_;
  std::vector<ChannelId> crossed_;
};

}  // namespace steptime
