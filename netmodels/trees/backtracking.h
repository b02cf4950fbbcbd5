// The exhaustive search for a tree, and what it has in common with the other way to MXNet's trees:
// one root after the other, with less weight for links that have been used.
#pragma once
#include "sim/collective/reduce_tree.h"
#include "sim/config/config.h"
#include "sim/network/link_matrix.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace steptime {

/// The best tree of this root; over more than 8 GPUs the first. Throws ModelFailure without one.
ReduceTree backtracking(const LinkMatrix& weights, Gpu root);

inline constexpr float kMxnetPenalty = 0.7F;
/// The factor for each use of a link.
Param penalty_param();
float read_penalty(const Config& c);
/// Multiplies the weights of all pairs of the tree.
void penalise(LinkMatrix& weights, const ReduceTree& tree, float penalty);
/// A tree for every root, in order, each on the weights that those before it left.
std::vector<ReduceTree> plan_in_turn(
    LinkMatrix weights, float penalty,
    const std::function<ReduceTree(const LinkMatrix& weights, Gpu root)>& tree);

// The parts of it, for tests. `leaves`: GPUs, -1 where none is placed; 2^depth.

/// Whether the first `placed` leaves can be those of a tree: every pair is linked, and there is
/// room for the GPUs that are missing.
bool may_become_tree(const LinkMatrix& weights, std::span<const Gpu> leaves, std::int32_t placed);
/// Lets no GPU send twice: whoever received from it stands in for it the second time.
void remove_second_sends(std::span<Gpu> leaves);
/// The weight of all pairs, less 100 for a link that is used twice and 10 for a GPU that takes part
/// twice in a level above the leaves.
float score(const LinkMatrix& weights, std::span<const Gpu> leaves);

}  // namespace steptime
