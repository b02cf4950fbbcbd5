// One level of a tree between the two halves of each group, and trees made of such levels.
#pragma once
#include "netmodels/trees/partition.h"
#include "sim/collective/reduce_tree.h"
#include "sim/network/link_matrix.h"

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

namespace steptime {

/// A tree that grows level by level, encoded as a ReduceTree is.
struct GrowingTree {
  explicit GrowingTree(Gpu root) : array{root}, roots{root} {}
  std::vector<Gpu> array;
  std::size_t last = 0;    ///< where the last level begins
  std::vector<Gpu> roots;  ///< the places of the last level from which it can grow
};

/// Adds the level that joins each pair. False, with the tree half done, where a pair cannot be
/// joined.
bool add_level(const LinkMatrix& weights, const Partition& partition,
               std::span<const GroupPair> pairs, GrowingTree& tree, std::mt19937& random);

/// The tree of this root; nothing where all tries got stuck.
std::optional<ReduceTree> kernighan_lin(const LinkMatrix& weights, Gpu root);
/// That or, without it, the one of backtracking, as MXNet does. Throws ModelFailure without any.
ReduceTree halving_or_backtracking(const LinkMatrix& weights, Gpu root);

// The parts of it, for tests.

/// The first of the roots in the group; -1 without one.
Gpu root_in(const Partition& partition, std::int32_t group, std::span<const Gpu> roots);
/// The first GPU of the group beside the parent; -1 without one.
Gpu child_in(const Partition& partition, std::int32_t group, Gpu parent);
/// The GPUs of the group with the heaviest link to the parent. GPUs without a link stand behind a
/// leading -1, as does nothing.
std::vector<Gpu> heaviest_children(const LinkMatrix& weights, const Partition& partition,
                                   Gpu parent, std::int32_t group);

}  // namespace steptime
