// The building blocks of the collectives in this folder: programs over ranks 0 to n - 1 on one
// slice of the data.
#pragma once
#include "sim/collective/collective_program.h"

#include <memory>
#include <utility>

namespace steptime {

/// A collective of a single program.
inline Programs one(std::unique_ptr<Program> program) {
  Programs programs;
  programs.push_back(std::move(program));
  return programs;
}

/// N - 1 steps: rank r ends with the sum of part (r + 1) mod n. In step i rank r sends part r - i
/// to r + 1.
std::unique_ptr<Program> ring_reduce_scatter(Rank n, Slice data, Rank stride = 1);
/// N - 1 steps: part (r + 1) mod n of rank r goes round to all. In step i rank r sends part
/// r + 1 - i.
std::unique_ptr<Program> ring_all_gather(Rank n, Slice data, Rank stride = 1);
/// Both, one after the other. `stride` (coprime with n): rank r sends to r + stride.
std::unique_ptr<Program> ring_all_reduce(Rank n, Slice data, Rank stride = 1);

/// Binomial tree towards rank 0, ceil(log2 n) rounds: the whole slice, added up at each parent.
std::unique_ptr<Program> binomial_reduce(Rank n, Slice data);
/// The mirror: from rank 0 to all.
std::unique_ptr<Program> binomial_broadcast(Rank n, Slice data);

/// From rank 0 along the chain of ranks, in segments that follow one another.
std::unique_ptr<Program> chain_broadcast(Rank n, Slice data, std::int32_t segments);

/// The reduction, then the broadcast.
std::unique_ptr<Program> binomial_all_reduce(Rank n, Slice data);

/// floor(log2 n) rounds in which pairs exchange the whole slice. When n is no power of two, the
/// first 2 (n - 2^k) ranks fold in pairs before it and unfold afterwards, as in MPICH.
std::unique_ptr<Program> recursive_doubling(Rank n, Slice data);
/// A reduce-scatter by halving and an all-gather by doubling, with the same folding.
std::unique_ptr<Program> halving_doubling(Rank n, Slice data);

/// Ranks k gpus to (k + 1) gpus - 1 belong to node k. Every node reduces to its first GPU, the
/// first GPUs all-reduce around a ring of nodes, and every node broadcasts.
std::unique_ptr<Program> hierarchical_all_reduce(Rank nodes, Rank gpus, Slice data);

/// A rank's place in a binary tree; -1: none.
struct TreePlace {
  Rank up = -1;
  Rank down[2] = {-1, -1};
  bool operator==(const TreePlace&) const = default;
};
/// Which of NCCL's rules for the second tree: up to 2.7.8 odd counts are mirrored and even ones
/// shifted by one, later the other way round, so that no rank is inside both trees.
enum class SecondTree { kUpTo278, kFrom284 };
/// The two trees of NCCL over n ranks.
TreePlace first_tree(Rank rank, Rank n);
TreePlace second_tree(Rank rank, Rank n, SecondTree rule);

/// Reduction towards the root of a binary tree and broadcast from it, in chunks that follow each
/// other through the tree: the reduction of all chunks, then their broadcast.
std::unique_ptr<Program> tree_all_reduce(Rank n, Slice data, std::int64_t chunks,
                                         TreePlace (*tree)(Rank rank, Rank n));

/// Ranks 0 to workers - 1 send part s of the data to server s (rank workers + s), which adds up
/// what it gets; then every server sends its part to every worker. Both in `messages` pieces, one
/// after the other. Workers begin with the data,
/// servers with zeros.
std::unique_ptr<Program> push_pull(Rank workers, Rank servers, Slice data,
                                   std::int32_t messages = 1);

}  // namespace steptime
