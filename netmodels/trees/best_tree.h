// The best of all balanced binary trees of a root, by dynamic programming over subsets of GPUs and
// their roots.
//
//   best(S, r, h) = max over A with r in A, A and B of at most 2^(h - 1) GPUs each, of
//                   best(A, r, h - 1) + best(B, c, h - 1) + value(c, r)   B = S - A, c in B
//                   best(A, r, h - 1) + best(B, r, h - 1)                 B = S - A + r
//
// is what the best tree of height h over the GPUs S with root r is worth. In the second case both
// parts send to the root, and nothing is left to send at this height.
//
// Scope: 2 to 16 GPUs; 16 take some 20 ms and 40 MB.
#pragma once
#include "sim/collective/reduce_tree.h"
#include "sim/network/link_matrix.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace steptime {

class BestTrees {
 public:
  explicit BestTrees(Gpu gpus);
  /// Finds the best trees where it is worth value(from, to) that one GPU sends to another; the
  /// worth of a tree is the sum over its copies.
  void solve(const std::function<double(Gpu from, Gpu to)>& value);
  /// Of those that solve() found; of equal ones always the same.
  ReduceTree tree(Gpu root) const;
  /// The heaviest tree of every root; of equally heavy ones, one with the fewest copies over pairs
  /// without a link, which weigh nothing.
  std::vector<ReduceTree> heaviest(const LinkMatrix& weights);

 private:
  using Subset = std::uint32_t;
  /// How the best tree is made: the part of the root, and the other part and its root, -1 without
  /// one.
  struct Parts {
    double worth = 0;
    Subset with_root = 0;
    Subset other = 0;
    Gpu child = -1;
  };
  double worth(std::int32_t height, Subset set, Gpu root) const {
    return worth_[static_cast<std::size_t>(height)][index(set, root)];
  }
  std::size_t index(Subset set, Gpu root) const {
    return number_[set] * static_cast<std::size_t>(gpus_) + static_cast<std::size_t>(root);
  }
  std::span<const Subset> of_sizes(std::int32_t least, std::int32_t most) const;
  double value(Gpu from, Gpu to) const { return values_[place(from, to)]; }
  std::size_t place(Gpu from, Gpu to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(gpus_) +
           static_cast<std::size_t>(to);
  }
  void solve_height(std::int32_t height);
  Parts parts(std::int32_t height, Subset set, Gpu root) const;
  void place(std::int32_t height, Subset set, Gpu root, std::vector<Gpu>& leaves) const;

  Gpu gpus_;
  std::int32_t depth_;
  std::vector<Subset> by_size_;      ///< all subsets, those of one size side by side in memory
  std::vector<std::size_t> number_;  ///< the place of a subset among them
  std::vector<double> values_;
  std::vector<std::vector<double>> worth_;  ///< by height below depth_, subset and root
  std::vector<double> joined_;              ///< worth of a subset that sends to a GPU outside of it
  std::vector<std::int32_t> least_;         ///< GPUs that a part of that height has at least
};

}  // namespace steptime
