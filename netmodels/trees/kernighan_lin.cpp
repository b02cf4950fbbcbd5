// Trees by recursive halving, as MXNet's kvstore builds them: in every level each group of GPUs is
// cut in half (netmodels/trees/partition.h), and the half without a root gets the GPU with the
// heaviest link to the root of the other half as its own. Where a level gets stuck the tree begins
// anew with other random numbers; after the eleventh time it is searched for by backtracking.
//
// Every link of a tree weighs `penalty` times as much for the trees after it, for each use.
//
// Scope: a group of two that appears one level before the others loses its root, so that 5, 9, 10
// and 11 GPUs always, and 6 and 7 sometimes, end in backtracking. The two GPUs of a group of two
// are joined whether they have a link or not. Parameters: penalty
// (MXNET_KVSTORE_TREE_LINK_USAGE_PENALTY). Validation:
// tests/netmodels/trees/mxnet_topology_cases.json. Source: apache/mxnet 1.3.1
// src/kvstore/gpu_topology.h; proposal 003.
#include "netmodels/trees/kernighan_lin.h"

#include "netmodels/trees/backtracking.h"
#include "netmodels/trees/shuffle.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>

namespace steptime {

namespace {
constexpr int kMostTries = 11;
constexpr std::mt19937::result_type kSeed = 1;

std::size_t index_of(Gpu gpu) {
  return static_cast<std::size_t>(gpu);
}
}  // namespace

Gpu root_in(const Partition& partition, std::int32_t group, std::span<const Gpu> roots) {
  for (const Gpu root : roots) {
    if (partition.group[index_of(root)] == group) return root;
  }
  return -1;
}

Gpu child_in(const Partition& partition, std::int32_t group, Gpu parent) {
  for (Gpu gpu = 0; gpu < std::ssize(partition.group); ++gpu) {
    if (partition.group[index_of(gpu)] == group && gpu != parent) return gpu;
  }
  return -1;
}

std::vector<Gpu> heaviest_children(const LinkMatrix& weights, const Partition& partition,
                                   Gpu parent, std::int32_t group) {
  std::vector<Gpu> children{-1};
  float heaviest = 0;
  for (Gpu gpu = 0; gpu < weights.gpus(); ++gpu) {
    if (gpu == parent || partition.group[index_of(gpu)] != group) continue;
    const float weight = weights.at(parent, gpu);
    if (weight > heaviest) children.clear();
    if (weight < heaviest) continue;
    heaviest = weight;
    children.push_back(gpu);
  }
  return children;
}

bool add_level(const LinkMatrix& weights, const Partition& partition,
               std::span<const GroupPair> pairs, GrowingTree& tree, std::mt19937& random) {
  std::map<Gpu, Gpu> child_of;
  std::vector<Gpu> roots;
  for (const GroupPair& pair : pairs) {
    Gpu parent = root_in(partition, pair.group, tree.roots);
    std::int32_t towards = pair.other;
    if (parent < 0 && pair.other >= 0) {
      parent = root_in(partition, pair.other, tree.roots);
      towards = pair.group;
    }
    if (parent < 0) return false;
    if (pair.other < 0) {
      child_of[parent] = pair.other == -1 ? parent : child_in(partition, pair.group, parent);
      continue;
    }
    std::vector<Gpu> children = heaviest_children(weights, partition, parent, towards);
    if (children.front() < 0) return false;
    shuffle(children, random);
    child_of[parent] = children.front();
    roots.insert(roots.end(), {parent, children.front()});
  }
  const std::size_t end = tree.array.size();
  for (std::size_t i = tree.last; i < end; ++i) {
    const Gpu gpu = tree.array[i];
    // The second of two equal neighbours stands for nobody.
    const bool is_empty = i != tree.last && gpu == tree.array[i - 1];
    const Gpu child = is_empty ? gpu : child_of.at(gpu);
    tree.array.insert(tree.array.end(), {gpu, child});
  }
  tree.last = end;
  tree.roots = std::move(roots);
  return true;
}

std::optional<ReduceTree> kernighan_lin(const LinkMatrix& weights, Gpu root) {
  std::mt19937 random(kSeed);
  for (int tries = 0; tries < kMostTries; ++tries) {
    Partition partition(weights.gpus());
    GrowingTree tree(root);
    for (bool is_done = false;;) {
      if (is_done) return ReduceTree(std::move(tree.array));
      std::vector<GroupPair> pairs;
      is_done = cut_groups(weights, partition, pairs, random);
      if (!add_level(weights, partition, pairs, tree, random)) break;
    }
  }
  return std::nullopt;
}

ReduceTree halving_or_backtracking(const LinkMatrix& weights, Gpu root) {
  auto tree = kernighan_lin(weights, root);
  return tree ? *std::move(tree) : backtracking(weights, root);
}

namespace {

class KernighanLin final : public TreePlanner {
 public:
  explicit KernighanLin(const Config& c) : penalty_(read_penalty(c)) {}
  std::vector<ReduceTree> plan(const LinkMatrix& weights) const override {
    return plan_in_turn(weights, penalty_, halving_or_backtracking);
  }

 private:
  float penalty_;
};

const bool kRegistered = TreePlanners::instance().add(
    "kernighan-lin", "MXNet's: recursive halving, which cuts as little link weight as it can",
    {penalty_param()}, [](const Config& c) { return std::make_unique<KernighanLin>(c); });

}  // namespace
}  // namespace steptime
