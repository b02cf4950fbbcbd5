// How busy the links between GPUs are when a tree is used for each root at once.
#pragma once
#include "sim/collective/reduce_tree.h"
#include "sim/network/link_matrix.h"

#include <cstddef>
#include <span>
#include <vector>

namespace steptime {

/// Trees that use each link in each direction, by the number of its NVLinks. A pair over PCIe
/// counts as the 1 / n of an NVLink that it weighs, one without a link as kNoLink.
class LinkLoad {
 public:
  explicit LinkLoad(const LinkMatrix& weights) : weights_(weights), uses_(weights.gpus()) {}
  /// Adds so many uses of each link on the way up the tree.
  void add(const ReduceTree& tree, float uses);
  /// The load from one GPU to another, with so many uses more.
  double with(Gpu from, Gpu to, double more) const;
  double of(Gpu from, Gpu to) const { return with(from, to, 0); }

  struct Busiest {
    double nvlink = 0;
    double other = 0;
  };
  Busiest busiest() const;

 private:
  const LinkMatrix& weights_;
  LinkMatrix uses_;  ///< row: from
};

}  // namespace steptime
