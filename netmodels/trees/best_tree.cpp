#include "netmodels/trees/best_tree.h"

#include "sim/core/error.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace steptime {

namespace {
constexpr double kNone = -std::numeric_limits<double>::infinity();
/// Less than any two sums of weights differ by.
constexpr double kWithoutLink = -0x1p-40;

bool has(std::uint32_t set, Gpu gpu) {
  return (set >> gpu & 1U) != 0;
}
}  // namespace

BestTrees::BestTrees(Gpu gpus)
    : gpus_(gpus),
      depth_(tree_depth(gpus)),
      by_size_(std::size_t{1} << gpus),
      number_(by_size_.size()),
      values_(static_cast<std::size_t>(gpus) * static_cast<std::size_t>(gpus)),
      worth_(static_cast<std::size_t>(depth_)),
      least_(static_cast<std::size_t>(depth_)) {
  STEPTIME_CHECK(gpus >= 2 && gpus <= TreePlanner::kMostGpus, "more subsets than fit");
  std::iota(by_size_.begin(), by_size_.end(), Subset{0});
  std::stable_sort(by_size_.begin(), by_size_.end(),
                   [](Subset x, Subset y) { return std::popcount(x) < std::popcount(y); });
  for (std::size_t i = 0; i < by_size_.size(); ++i)
    number_[by_size_[i]] = i;
  for (auto& each : worth_)
    each.resize(by_size_.size() * static_cast<std::size_t>(gpus));
  joined_.resize(by_size_.size() * static_cast<std::size_t>(gpus));
  // What the other part cannot hold is left for this one.
  std::int32_t least = gpus;
  for (std::int32_t height = depth_ - 1; height >= 0; --height) {
    least = std::max(least - (1 << height), 0);
    least_[static_cast<std::size_t>(height)] = least;
  }
}

std::span<const BestTrees::Subset> BestTrees::of_sizes(std::int32_t least,
                                                       std::int32_t most) const {
  const auto smaller = [](Subset set, std::int32_t size) { return std::popcount(set) < size; };
  const auto first =
      std::lower_bound(by_size_.begin(), by_size_.end(), std::max(least, 1), smaller);
  return {first, std::lower_bound(first, by_size_.end(), most + 1, smaller)};
}

void BestTrees::solve(const std::function<double(Gpu, Gpu)>& value) {
  for (Gpu from = 0; from < gpus_; ++from) {
    for (Gpu to = 0; to < gpus_; ++to)
      values_[place(from, to)] = from == to ? 0 : value(from, to);
  }
  for (Gpu gpu = 0; gpu < gpus_; ++gpu)
    worth_[0][index(Subset{1} << gpu, gpu)] = 0;
  for (std::int32_t height = 1; height < depth_; ++height)
    solve_height(height);
}

void BestTrees::solve_height(std::int32_t height) {
  const std::int32_t half = 1 << (height - 1);
  const auto& below = worth_[static_cast<std::size_t>(height - 1)];
  auto& here = worth_[static_cast<std::size_t>(height)];
  for (const Subset set : of_sizes(least_[static_cast<std::size_t>(height - 1)], half)) {
    for (Gpu to = 0; to < gpus_; ++to) {
      double& best = joined_[index(set, to)] = kNone;
      if (has(set, to)) continue;
      for (Gpu child = 0; child < gpus_; ++child) {
        if (has(set, child)) best = std::max(best, below[index(set, child)] + value(child, to));
      }
    }
  }
  for (const Subset set : of_sizes(least_[static_cast<std::size_t>(height)], 2 * half)) {
    double* const best = &here[index(set, 0)];
    std::fill_n(best, gpus_, kNone);
    for (Subset with_root = set; with_root != 0; with_root = (with_root - 1) & set) {
      const Subset other = set & ~with_root;
      if (std::popcount(with_root) > half || std::popcount(other) > half) continue;
      const double* const alone = &below[index(with_root, 0)];
      const double* const joined = &joined_[index(other, 0)];
      for (Subset roots = with_root; roots != 0; roots &= roots - 1) {
        const int root = std::countr_zero(roots);
        best[root] = std::max(best[root], alone[root] + (other == 0 ? 0 : joined[root]));
        if (other == 0 || std::popcount(other) == half) continue;
        const Subset both = other | Subset{1} << root;
        best[root] = std::max(best[root], alone[root] + below[index(both, root)]);
      }
    }
  }
}

BestTrees::Parts BestTrees::parts(std::int32_t height, Subset set, Gpu root) const {
  const std::int32_t half = 1 << (height - 1);
  Parts best{.worth = kNone};
  for (Subset with_root = set; with_root != 0; with_root = (with_root - 1) & set) {
    const Subset other = set & ~with_root;
    if (!has(with_root, root) || std::popcount(with_root) > half || std::popcount(other) > half)
      continue;
    const double alone = worth(height - 1, with_root, root);
    if (other == 0 && alone > best.worth) best = {alone, with_root, 0, -1};
    for (Gpu child = 0; child < gpus_; ++child) {
      if (!has(other, child)) continue;
      const double together = alone + worth(height - 1, other, child) + value(child, root);
      if (together > best.worth) best = {together, with_root, other, child};
    }
    if (other == 0 || std::popcount(other) == half) continue;
    const Subset both = other | Subset{1} << root;
    const double apart = alone + worth(height - 1, both, root);
    if (apart > best.worth) best = {apart, with_root, both, root};
  }
  return best;
}

void BestTrees::place(std::int32_t height, Subset set, Gpu root, std::vector<Gpu>& leaves) const {
  if (height == 0) {
    leaves.push_back(root);
    return;
  }
  const Parts best = parts(height, set, root);
  place(height - 1, best.with_root, root, leaves);
  if (best.child < 0) {
    // Nobody sends here: the places below stand for the root, too.
    leaves.insert(leaves.end(), std::size_t{1} << (height - 1), root);
  } else {
    place(height - 1, best.other, best.child, leaves);
  }
}

ReduceTree BestTrees::tree(Gpu root) const {
  std::vector<Gpu> leaves;
  place(depth_, (Subset{1} << gpus_) - 1, root, leaves);
  return ReduceTree::above(leaves);
}

std::vector<ReduceTree> BestTrees::heaviest(const LinkMatrix& weights) {
  solve([&](Gpu from, Gpu to) {
    const double weight = weights.at(to, from);
    return weight > 0 ? weight : kWithoutLink;
  });
  std::vector<ReduceTree> trees;
  trees.reserve(static_cast<std::size_t>(gpus_));
  for (Gpu root = 0; root < gpus_; ++root)
    trees.push_back(tree(root));
  return trees;
}

}  // namespace steptime
