// Trees by exhaustive search, as MXNet's kvstore does it where it is told to and where recursive
// halving gets stuck. The leaves are placed from left to right, GPU numbers ascending; up to 8 GPUs
// the first tree with the highest score stands, beyond the first that is one.
//
// Scope: the search over more than 8 GPUs may take for ever where few pairs are linked; after
// kMostPlaced placements there is no tree.
// Parameters: penalty (MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY). Validation:
// tests/netmodels/trees/mxnet_topology_cases.json. Source: apache/mxnet 1.3.1
// src/kvstore/gpu_topology.h; proposal 003.
#include "netmodels/trees/backtracking.h"

#include "sim/core/error.h"

#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace steptime {

namespace {

constexpr std::int64_t kMostPlaced = 20'000'000;
constexpr std::int32_t kDeepestBest = 3;  ///< depth of trees of which the best is looked for

std::size_t at(Gpu gpu) {
  return static_cast<std::size_t>(gpu);
}

class Search {
 public:
  Search(const LinkMatrix& weights, Gpu root)
      : weights_(weights), leaves_(std::size_t{1} << tree_depth(weights.gpus()), -1) {
    leaves_[0] = root;
    finds_best_ = tree_depth(weights.gpus()) <= kDeepestBest;
  }
  /// Empty without a tree.
  std::vector<Gpu> best() {
    place(1);
    return std::move(best_);
  }

 private:
  /// Returns whether the search is over.
  bool place(std::size_t leaf) {
    if (leaf == leaves_.size()) {
      complete_ = leaves_;
      remove_second_sends(complete_);
      if (const float found = score(weights_, complete_); best_.empty() || found > best_score_) {
        best_score_ = found;
        best_ = complete_;
      }
      return !finds_best_;
    }
    for (Gpu gpu = 0; gpu < weights_.gpus(); ++gpu) {
      if (++placed_ > kMostPlaced) return true;
      leaves_[leaf] = gpu;
      if (may_become_tree(weights_, leaves_, static_cast<std::int32_t>(leaf + 1)) &&
          place(leaf + 1))
        return true;
    }
    leaves_[leaf] = -1;
    return false;
  }

  const LinkMatrix& weights_;
  std::vector<Gpu> leaves_;
  std::vector<Gpu> complete_;
  std::vector<Gpu> best_;
  float best_score_ = 0;
  bool finds_best_ = false;
  std::int64_t placed_ = 0;
};

}  // namespace

bool may_become_tree(const LinkMatrix& weights, std::span<const Gpu> leaves, std::int32_t placed) {
  for (const Gpu gpu : leaves) {
    if (gpu >= weights.gpus()) return false;
  }
  const auto count = static_cast<std::size_t>(placed);
  for (std::size_t stride = 1; stride < leaves.size(); stride *= 2) {
    for (std::size_t i = 0; i + stride < count; i += 2 * stride) {
      const Gpu to = leaves[i];
      const Gpu from = leaves[i + stride];
      const bool are_placed = to >= 0 && from >= 0;
      if (are_placed && to != from && weights.at(to, from) == 0) return false;
    }
  }
  std::uint32_t seen = 0;
  for (const Gpu gpu : leaves) {
    if (gpu >= 0) seen |= 1U << gpu;
  }
  return weights.gpus() - std::popcount(seen) <= std::ssize(leaves) - placed;
}

void remove_second_sends(std::span<Gpu> leaves) {
  // How often a GPU stands at every stride-th leaf.
  const auto count = [&](std::size_t stride) {
    std::array<std::int32_t, TreePlanner::kMostGpus> counts{};
    for (std::size_t i = 0; i < leaves.size(); i += stride)
      ++counts[at(leaves[i])];
    return counts;
  };
  for (std::size_t stride = leaves.size() / 2; stride > 0; stride /= 2) {
    const auto above = count(2 * stride);
    auto here = count(stride);
    for (std::size_t i = leaves.size() / stride - 1; i < leaves.size(); i -= 2) {
      Gpu& from = leaves[i * stride];
      const Gpu to = leaves[(i - 1) * stride];
      if (from == to || (here[at(from)] <= 1 && above[at(from)] == 0)) continue;
      --here[at(from)];
      from = to;
    }
  }
}

float score(const LinkMatrix& weights, std::span<const Gpu> leaves) {
  float sum = 0;
  std::array<std::uint32_t, TreePlanner::kMostGpus> linked{};  // a bit for each GPU
  for (std::size_t stride = 1; stride < leaves.size(); stride *= 2) {
    std::uint32_t used = 0;
    for (std::size_t i = 0; i + stride < leaves.size(); i += 2 * stride) {
      const Gpu to = leaves[i];
      const Gpu from = leaves[i + stride];
      const std::uint32_t to_bit = 1U << to;
      const std::uint32_t from_bit = 1U << from;
      if (to != from) {
        sum += weights.at(to, from);
        if ((linked[at(to)] & from_bit) != 0) sum -= 100;
        linked[at(to)] |= from_bit;
        linked[at(from)] |= to_bit;
      }
      used |= to_bit;
      // A pair that is one GPU counts, too: it lowers the score of trees with few GPUs.
      if (stride > 1 && (used & from_bit) != 0) sum -= 10;
      used |= from_bit;
    }
  }
  return sum;
}

ReduceTree backtracking(const LinkMatrix& weights, Gpu root) {
  const std::vector<Gpu> leaves = Search(weights, root).best();
  if (leaves.empty()) {
    throw ModelFailure(
        fmt::format("no balanced binary tree from GPU {} over linked pairs of GPUs only", root));
  }
  return ReduceTree::above(leaves);
}

Param penalty_param() {
  return {.key = "penalty",
          .kind = Kind::kNumber,
          .help = "factor of a link's weight for each tree that uses it",
          .need = Need::kDefault,
          .fallback = 0.7,
          .range = {.low = 0, .high = 1, .low_is_allowed = false}};
}

float read_penalty(const Config& c) {
  return static_cast<float>(c.get<double>("penalty"));
}

void penalise(LinkMatrix& weights, const ReduceTree& tree, float penalty) {
  for (const auto& level : tree.copies()) {
    for (const GpuCopy& copy : level)
      weights.set(copy.to, copy.from, weights.at(copy.to, copy.from) * penalty);
  }
}

std::vector<ReduceTree> plan_in_turn(
    LinkMatrix weights, float penalty,
    const std::function<ReduceTree(const LinkMatrix& weights, Gpu root)>& tree) {
  std::vector<ReduceTree> trees;
  for (Gpu root = 0; root < weights.gpus(); ++root) {
    trees.push_back(tree(weights, root));
    penalise(weights, trees.back(), penalty);
  }
  return trees;
}

namespace {

class Backtracking final : public TreePlanner {
 public:
  explicit Backtracking(const Config& c) : penalty_(read_penalty(c)) {}
  std::vector<ReduceTree> plan(const LinkMatrix& weights) const override {
    return plan_in_turn(weights, penalty_, backtracking);
  }

 private:
  float penalty_;
};

const bool kRegistered = TreePlanners::instance().add(
    "backtracking", "MXNet's: exhaustive search, of more than 8 GPUs the first tree",
    {penalty_param()}, [](const Config& c) { return std::make_unique<Backtracking>(c); });

}  // namespace
}  // namespace steptime
