// One level of a partition: every group of GPUs that still has more than two is cut in half by the
// exchange of pairs of Kernighan and Lin, so that as little link weight as possible is cut.
//
// Source: apache/mxnet 1.3.1 src/kvstore/gpu_topology.h, whose rules differ from the paper's: of a
// pair that was exchanged only the GPU with the lower number is out of the pass, and the gain of a
// pass stands until one comes upon nothing to exchange. B.W. Kernighan and S. Lin, "An efficient
// heuristic procedure for partitioning graphs", Bell System Technical Journal 49 (1970).
#pragma once
#include "sim/network/link_matrix.h"

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace steptime {

struct Partition {
  explicit Partition(Gpu gpus) : group(static_cast<std::size_t>(gpus)) {}
  std::vector<std::int32_t> group;  ///< the group of each GPU: 0 to groups - 1
  std::int32_t groups = 1;
};

/// What a level makes of a group: itself and a new one, or the same as before.
struct GroupPair {
  std::int32_t group = 0;
  std::int32_t other = 0;  ///< for a group that was too small to be cut: -1 or -2, its size
  bool operator==(const GroupPair&) const = default;
};

/// Cuts every group of more than two and adds a pair for every group. The first half of a group in
/// random order keeps its number to begin with. Returns whether there was none to cut.
bool cut_groups(const LinkMatrix& weights, Partition& partition, std::vector<GroupPair>& pairs,
                std::mt19937& random);

// The parts of it, for tests. `side`: 1 or -1 for the two halves of a group, 0 for other GPUs.

/// By how much the weight to the other half exceeds that to the own half, for each GPU.
std::vector<float> cut_excess(const LinkMatrix& weights, std::span<const std::int32_t> side);

struct PairExchange {
  Gpu first = -1;
  Gpu second = -1;
  float gain = 0;  ///< cut weight that it saves; 0: there is none
  bool operator==(const PairExchange&) const = default;
};
/// The first of those that save the most.
PairExchange best_exchange(const LinkMatrix& weights, std::span<const std::int32_t> side,
                           std::span<const float> excess, const std::vector<bool>& used);

}  // namespace steptime
