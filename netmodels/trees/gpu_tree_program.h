// What the GPUs of a node do when they add up along a tree, or send the sum back along it, as
// messages between ranks.
#pragma once
#include "sim/collective/collective_program.h"
#include "sim/collective/reduce_tree.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace steptime {

/// A reduction goes up, level after level: a GPU sends once it has the sums of all that it
/// receives, whether its receiver has got so far or not, into a buffer there. A broadcast goes
/// down: what a GPU sends leaves one after the other, the uppermost level first.
class GpuTreeProgram final : public Program {
 public:
  enum class Way : std::uint8_t { kUp, kDown, kUpAndDown };
  GpuTreeProgram(const ReduceTree& tree, Rank ranks, Slice data, Way way = Way::kUpAndDown);

  Rank ranks() const override { return static_cast<Rank>(ops_.size()); }
  std::int32_t steps(Rank rank) const override {
    return static_cast<std::int32_t>(ops_[static_cast<std::size_t>(rank)].size());
  }
  Op op(Rank rank, std::int32_t step) const override {
    return ops_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(step)];
  }
  double messages() const override { return messages_; }
  bool buffered() const override { return true; }

 private:
  void add(Rank from, Rank to, Slice data, bool reduce);

  std::vector<std::vector<Op>> ops_;  ///< the operations of each rank: at most two for each level
  double messages_ = 0;
};

}  // namespace steptime
