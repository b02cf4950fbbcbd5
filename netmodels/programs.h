// The programs that the collectives of this folder are made of, each defined in NAME_program.cpp or
// beside its collective. Ranks are 0 to n - 1, all of which hold data of the same length; a program
// works on one slice of it, the whole or, where several programs run side by side, a share.
#pragma once
#include "sim/collective/collective_program.h"

#include <memory>
#include <utility>

namespace steptime {

/// The programs of a collective that has only one.
inline Programs one(std::unique_ptr<Program> program) {
  Programs programs;
  programs.push_back(std::move(program));
  return programs;
}

// Rings. The slice is cut into n parts; rank r always sends to rank r + stride, modulo n, with
// `stride` coprime with n, so that the ring visits every rank. What follows is for stride 1.

/// n - 1 steps, after which rank r holds the sum of part r + 1. In step i it sends part r - i, to
/// which it has added its own.
std::unique_ptr<Program> ring_reduce_scatter(Rank n, Slice data, Rank stride = 1);
/// n - 1 steps, in which part r + 1, which rank r holds at first, goes round to all. In step i rank
/// r sends part r + 1 - i.
std::unique_ptr<Program> ring_all_gather(Rank n, Slice data, Rank stride = 1);
/// The reduce-scatter, then the all-gather.
std::unique_ptr<Program> ring_all_reduce(Rank n, Slice data, Rank stride = 1);

/// Along a binomial tree to rank 0, in log2 n rounds, rounded up: in round k every rank that is an
/// odd multiple of 2^k sends the whole slice to the rank 2^k below it, which adds it to its own.
std::unique_ptr<Program> binomial_reduce(Rank n, Slice data);
/// The same tree backwards: the slice of rank 0 replaces that of all others.
std::unique_ptr<Program> binomial_broadcast(Rank n, Slice data);

/// The reduction, then the broadcast.
std::unique_ptr<Program> binomial_all_reduce(Rank n, Slice data);

/// The slice of rank 0, cut into segments, goes from rank to rank: each receives one while it sends
/// on the one before.
std::unique_ptr<Program> chain_broadcast(Rank n, Slice data, std::int32_t segments);

/// With 2^k the largest power of two up to n: k rounds in which pairs of ranks exchange the whole
/// slice and add it up. The n - 2^k ranks that are too many take no part in them: each hands its
/// data to a neighbour before, and gets the sum from it afterwards, as in MPICH ("folding").
std::unique_ptr<Program> recursive_doubling(Rank n, Slice data);
/// A reduce-scatter in which pairs exchange half of what they still add up, then an all-gather in
/// which they exchange all that they have; with the same folding. The longest messages, half of the
/// slice, go between ranks that are half of all ranks apart or, where the `nearest_first`, between
/// neighbours.
std::unique_ptr<Program> halving_doubling(Rank n, Slice data, bool nearest_first = false);

/// Ranks k gpus to (k + 1) gpus - 1 are the GPUs of node k. Every node reduces to its first GPU
/// along a binomial tree, the first GPUs all-reduce around a ring of nodes, and every node
/// broadcasts the sum along its tree.
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

/// All chunks of the slice, one after the other, go up to the root of a binary tree and are added
/// up on their way; when the last has come they go down again. `tree` says where a rank stands.
std::unique_ptr<Program> tree_all_reduce(Rank n, Slice data, std::int64_t chunks,
                                         TreePlace (*tree)(Rank rank, Rank n));

/// Every worker (ranks 0 to workers - 1) sends part s of its data to server s (rank workers + s),
/// which begins with zeros and adds up what it gets; then every server sends its part to every
/// worker. Each message may be cut into `messages` pieces, which follow one another.
std::unique_ptr<Program> push_pull(Rank workers, Rank servers, Slice data,
                                   std::int32_t messages = 1);

}  // namespace steptime
