// The GPUs of ranks in an engine, where what they compute and their collectives slow each other
// down (sim/workload/slowed_medium.h), or kernels the links inside nodes
// (sim/network/kernel_links.h).
//
// Kernels run while a rank has a segment of a forward or backward pass. Copies and updates of
// weights slow nothing down, and are not slowed.
#pragma once
#include "sim/network/kernel_links.h"
#include "sim/network/machine.h"
#include "sim/network/network.h"
#include "sim/runtime/group.h"
#include "sim/runtime/world.h"
#include "sim/workload/shared_gpu.h"
#include "sim/workload/slowed_medium.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace steptime {

class RankGpus {
 public:
  struct Costs {
    /// How many times as long a collective and what its ranks compute take; null: as long.
    SlowedMedium::SlowdownOf beside{};
    /// The same of a broadcast of what servers gave.
    SlowedMedium::SlowdownOf beside_spread{};
    double links = 1;  ///< how many times as long bytes take inside nodes while kernels run
    bool any() const { return beside || beside_spread || links > 1; }
  };
  /// `ranks` that stand for so many workers, each for as many. The world must outlive this.
  RankGpus(World& world, Costs costs, std::int32_t ranks, std::int64_t workers);
  RankGpus(const RankGpus&) = delete;
  RankGpus& operator=(const RankGpus&) = delete;

  SharedGpu& of(std::int32_t rank) { return gpus_[static_cast<std::size_t>(rank)]; }
  /// What all-reduces of all ranks go through, beside what these compute.
  std::unique_ptr<Medium> slowed(std::unique_ptr<Medium> medium);
  /// The same of such a part of the ranks.
  struct Part {
    std::int32_t first = 0;
    std::int32_t count = 0;
  };
  std::unique_ptr<Medium> slowed(std::unique_ptr<Medium> medium, Part of) {
    return slowed(std::move(medium), of, costs_.beside);
  }
  std::unique_ptr<Medium> slowed_spread(std::unique_ptr<Medium> medium, Part of) {
    return slowed(std::move(medium), of, costs_.beside_spread);
  }
  /// The links are those of a machine, from before the first kernel on. Both must outlive this.
  void slow_links_of(Network& network, const Machine& machine);
  /// Who hears that kernels of a worker run or no longer do, in place of links of its own.
  using OnKernels = std::function<void(std::int64_t worker, bool run)>;
  void tell(OnKernels on_kernels) { on_kernels_ = std::move(on_kernels); }

 private:
  std::unique_ptr<Medium> slowed(std::unique_ptr<Medium> medium, Part of,
                                 const SlowedMedium::SlowdownOf& beside);
  void set_kernels(std::int32_t rank, bool run);

  World& world_;
  Costs costs_;
  std::int64_t workers_each_;  ///< so many workers a rank stands for
  std::deque<SharedGpu> gpus_;
  std::optional<KernelLinks> links_;
  OnKernels on_kernels_;
};

}  // namespace steptime
