// Tree: every GPU copies its gradient of a key to a buffer of its own; level by level of the tree
// of GPU 0 a GPU copies to its parent, which adds two arrays up; and the sum goes down the same
// way. A key beyond `array_bound` is cut into a slice for each GPU's tree.
//
// For N GPUs a key takes N copies of a GPU to itself, N - 1 copies up, each with a sum, one copy at
// the root and N - 1 down. In slices it takes the same for each, down to the buffers of all GPUs
// before the push is over; a pull is N copies to itself on each GPU, which write one array, and so
// take turns. The optimizer then works on GPU 0's own gradient in MXNet 1.3.1, and nobody waits for
// it.
// Parameters: as of the collective "tree"; own_copies: false leaves out what a GPU copies to
// itself, as one call that pushes and pulls could, which knows both arrays; slices still end in one
// array by copies. Source: apache/mxnet 1.3.1 src/kvstore/comm_tree.h; proposal 003.
#include "netmodels/trees/tree.h"

#include "sim/mxnet/merge.h"
#include "sim/mxnet/updater.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace steptime {
namespace {

std::size_t index(Gpu gpu) {
  return static_cast<std::size_t>(gpu);
}

/// Buffers on every GPU.
struct Slice {
  std::int64_t bytes = 0;
  NodeProcess::Variables merged;
  NodeProcess::Variables arrived;  ///< from the child of the level
};

class TreeStore final : public KvStore {
 public:
  TreeStore(NodeProcess& process, std::span<const ReduceTree> trees, bool own_copies)
      : process_(process), own_copies_(own_copies) {
    for (const ReduceTree& tree : trees)
      trees_.push_back({tree.root(), tree.level(tree.depth()), tree.copies()});
  }
  void add_key(std::int64_t bytes, const std::vector<std::int64_t>& slices) {
    Key key{bytes, {}, process_.variable()};
    for (const std::int64_t slice : slices)
      key.slices.push_back({slice, buffers(), buffers()});
    keys_.push_back(std::move(key));
  }

  void push(KeyRange keys) override {
    const Key& key = keys_[keys.first];
    const bool in_place = !own_copies_ && !is_cut(key);
    for (std::size_t i = 0; i < key.slices.size(); ++i)
      reduce(keys.first, trees_[i], key.slices[i], in_place);
    for (std::size_t i = 0; is_cut(key) && i < key.slices.size(); ++i)
      broadcast(trees_[i], key.slices[i].bytes, key.slices[i].merged);
    const auto weights = is_cut(key) ? key.updated : merged_at_root(key);
    const SummedPart sum{is_cut(key) ? 0 : trees_[0].root, key.bytes, weights, weights};
    process_.updater().push(process_, keys.first, {&sum, 1});
  }
  void pull(KeyRange keys) override {
    const Key& key = keys_[keys.first];
    NodeProcess::Variables weights;
    for (Gpu gpu = 0; gpu < process_.gpus(); ++gpu)
      weights.push_back(process_.weight(keys.first, gpu));
    if (!is_cut(key)) {
      const Gpu root = trees_[0].root;
      if (own_copies_)
        process_.copy(root, root, key.bytes, merged_at_root(key), weights[index(root)]);
      return broadcast(trees_[0], key.bytes, weights);
    }
    for (Gpu gpu = 0; gpu < process_.gpus(); ++gpu) {
      for (const Slice& slice : key.slices)
        process_.copy(gpu, gpu, slice.bytes, slice.merged[index(gpu)], weights[index(gpu)]);
    }
  }

 private:
  struct Tree {
    Gpu root;
    std::span<const Gpu> leaves;
    std::vector<std::vector<GpuCopy>> levels;  ///< copies, from the leaves to the root
  };
  struct Key {
    std::int64_t bytes;
    std::vector<Slice> slices;
    NodeProcess::Variable updated;  ///< where the sums are not
  };
  static bool is_cut(const Key& key) { return key.slices.size() > 1; }
  NodeProcess::Variables buffers() { return process_.variables(index(process_.gpus())); }
  NodeProcess::Variable merged_at_root(const Key& key) const {
    return key.slices.front().merged[index(trees_[0].root)];
  }

  /// `in_place`: what the root has in the end are its weights already.
  void reduce(std::size_t key, const Tree& tree, const Slice& slice, bool in_place) {
    NodeProcess::Variables have;  // what each GPU has of the sum so far
    for (Gpu gpu = 0; gpu < process_.gpus(); ++gpu) {
      have.push_back(own_copies_ ? slice.merged[index(gpu)] : process_.gradient(key, gpu));
      for (const Gpu leaf : tree.leaves) {
        if (own_copies_ && leaf == gpu)
          process_.copy(leaf, leaf, slice.bytes, process_.gradient(key, gpu), have[index(gpu)]);
      }
    }
    for (const auto& level : tree.levels) {
      for (const GpuCopy& copy : level) {
        process_.copy(copy.from, copy.to, slice.bytes, have[index(copy.from)],
                      slice.arrived[index(copy.to)]);
      }
      for (const GpuCopy& copy : level) {
        const auto target = slice.merged[index(copy.to)];
        NodeProcess::Variables sources{slice.arrived[index(copy.to)]};
        if (have[index(copy.to)] != target) sources.push_back(have[index(copy.to)]);
        NodeProcess::Variables targets{target};
        if (in_place && &level == &tree.levels.back())
          targets.push_back(process_.weight(key, copy.to));
        process_.sum(copy.to, 2, slice.bytes, sources, targets);
        have[index(copy.to)] = target;
      }
    }
  }
  void broadcast(const Tree& tree, std::int64_t bytes, const NodeProcess::Variables& results) {
    for (auto level = tree.levels.rbegin(); level != tree.levels.rend(); ++level) {
      for (const GpuCopy& copy : *level)
        process_.copy(copy.to, copy.from, bytes, results[index(copy.to)],
                      results[index(copy.from)]);
    }
  }

  NodeProcess& process_;
  bool own_copies_;
  std::vector<Tree> trees_;
  std::vector<Key> keys_;
};

class TreeMerge final : public Merge {
 public:
  TreeMerge(const Config& c, const Cluster& cluster)
      : trees_(read_trees(c, cluster)),
        bound_(c.get<Bytes>("array_bound").count),
        row_(c.get<Bytes>("row").count),
        own_copies_(c.get<bool>("own_copies")) {}

  Place place() const override { return Place::kEngine; }
  std::optional<std::int64_t> cut(const Cluster& cluster) const override {
    return row_ * std::max(bound_ / row_ + 1, 2 * cluster.gpus_per_node);
  }
  std::unique_ptr<KvStore> init(NodeProcess& process, std::span<const std::int64_t> bytes,
                                const Sharding&) const override {
    auto store = std::make_unique<TreeStore>(process, trees_, own_copies_);
    for (const std::int64_t each : bytes) {
      auto slices = tree_slices(each / row_, row_, bound_, process.gpus());
      if (slices.empty())
        slices.push_back(each);
      else
        slices.back() += each % row_;
      store->add_key(each, slices);
    }
    return store;
  }

 private:
  std::vector<ReduceTree> trees_;
  std::int64_t bound_;
  std::int64_t row_;
  bool own_copies_;
};

Params merge_params() {
  Params all = tree_params();
  all.push_back({.key = "own_copies",
                 .kind = Kind::kBoolean,
                 .help = "copies of a GPU to itself, which calls need that push or pull only",
                 .need = Need::kDefault,
                 .fallback = true});
  return all;
}

const bool kRegistered =
    Merges::instance().add("tree", "along MXNet's trees over the links of the node", merge_params(),
                           [](const Config& c, const Cluster& cluster) {
                             return std::make_unique<TreeMerge>(c, cluster);
                           });

}  // namespace
}  // namespace steptime
