// A balanced binary tree along which the GPUs of a node add up what they have, and those who build
// one for each GPU as the root. Implemented in netmodels/trees/.
//
// Encoding, as in MXNet: a complete binary tree in an array, level after level from the root. The
// left child of a place is the same GPU one level further down; the right child is the GPU that
// sends to it there, or the same GPU again where none does. The leaves of depth d are 2^d.
//
//          3            levels: 3 | 3 1 | 3 0 1 5 | 3 3 0 4 1 2 5 6
//      3       1
//    3   0   1   5      4 sends to 0, 2 to 1 and 6 to 5; then 0 to 3 and 5 to 1; then 1 to 3
//   3 3 0 4 1 2 5 6
//
// Source: apache/mxnet 1.3.1 src/kvstore/gpu_topology.h, comm_tree.h; proposal 003.
#pragma once
#include "sim/config/registry.h"
#include "sim/network/link_matrix.h"

#include <cstdint>
#include <span>
#include <vector>

namespace steptime {

/// The smallest d >= 1 with gpus <= 2^d.
std::int32_t tree_depth(Gpu gpus);

struct GpuCopy {
  Gpu from = 0;
  Gpu to = 0;
  bool operator==(const GpuCopy&) const = default;
};

class ReduceTree {
 public:
  /// The whole array: 2^(d + 1) - 1 places.
  explicit ReduceTree(std::vector<Gpu> array);
  /// The tree above these 2^d leaves: of each pair the left one receives.
  static ReduceTree above(std::span<const Gpu> leaves);

  std::int32_t depth() const { return depth_; }
  Gpu root() const { return array_.front(); }
  const std::vector<Gpu>& array() const { return array_; }
  std::span<const Gpu> level(std::int32_t level) const;
  /// Where each level begins in the array, and where the last one ends: 0, 1, 3, ..., 2^(d + 1)
  /// - 1.
  std::vector<std::int32_t> level_starts() const;
  /// What a reduction copies, level after level from the leaves; every level ends with the sums of
  /// what arrived. A broadcast is the mirror.
  std::vector<std::vector<GpuCopy>> copies() const;
  /// The sum of the weights of all pairs that copy.
  float weight(const LinkMatrix& weights) const;
  bool operator==(const ReduceTree&) const = default;

 private:
  std::int32_t depth_;
  std::vector<Gpu> array_;
};

/// How trees are found.
class TreePlanner {
 public:
  static constexpr const char* kNoun = "tree-planner";
  /// GPUs that any planner takes.
  static constexpr Gpu kMostGpus = 16;
  virtual ~TreePlanner() = default;
  /// A tree for each GPU as the root, in order, over 2 to kMostGpus GPUs. `weights`: of the pairs,
  /// 0 for one that has no link; symmetric. Throws ModelFailure where there is none.
  virtual std::vector<ReduceTree> plan(const LinkMatrix& weights) const = 0;
};
using TreePlanners = Registry<TreePlanner>;

/// The elements of an array that each GPU's tree takes: of `rows` rows, all of one length, which
/// are more than `bound` elements together and at least two for each GPU, rows / gpus each, and the
/// rest for the last one. Empty for a smaller array, which takes one tree.
std::vector<std::int64_t> tree_slices(std::int64_t rows, std::int64_t row, std::int64_t bound,
                                      Gpu gpus);

}  // namespace steptime
