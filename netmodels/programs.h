// The building blocks of the collectives in this folder: programs over ranks 0 to n - 1 on one
// slice of the data.
#pragma once
#include "sim/collective_program.h"

#include <memory>

namespace steptime {

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

/// floor(log2 n) rounds in which pairs exchange the whole slice. When n is no power of two, the
/// first 2 (n - 2^k) ranks fold in pairs before it and unfold afterwards, as in MPICH.
std::unique_ptr<Program> recursive_doubling(Rank n, Slice data);
/// A reduce-scatter by halving and an all-gather by doubling, with the same folding.
std::unique_ptr<Program> halving_doubling(Rank n, Slice data);

}  // namespace steptime
