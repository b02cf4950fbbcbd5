// What NCCL chooses between and from: algorithms, protocols, releases, and the machine as its
// search of the topology sees it.
#pragma once
#include "sim/collective/collective.h"

#include <cstdint>

namespace steptime {

/// In the order in which NCCL compares them: of two equal times the first stands.
enum class NcclAlgorithm {
  kTree,
  kRing,
  kNvls,  ///< the NVSwitch adds up and multicasts
  kPat    ///< parallel trees, for all-gather and reduce-scatter with one GPU a node
};
enum class NcclProtocol {
  kLl,     ///< 8-byte lines, half of them flags
  kLl128,  ///< 128-byte lines, 8 bytes of them flags
  kSimple
};

/// What NCCL's search of the topology found, the same for trees and rings.
struct NcclGraph {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
  std::int64_t channels = 1;  ///< rings, before NCCL uses each one twice
  double channel_gbps = 0;    ///< GB/s (1e9) of one channel
  double tree_gbps = 0;       ///< one channel of a tree between two nodes; 0: as a ring has
  double inside_gbps = 0;     ///< a node's rings, with several nodes of several GPUs
  bool nvlink = false;        ///< the channels run over NVLink inside a node
  int compute_capability = 70;
  bool amd = false;
  bool power = false;
  bool nic_near_gpu = false;
  double switch_gbps = 0;  ///< one GPU's links to the NVSwitch together; 0: it has none
  double nvls_gbps = 0;    ///< all channels through the NVSwitch; 0: not on this machine
  /// The same at the speed between nodes, which on one node nothing limits; 0: as fast.
  double nvls_between_gbps = 0;
  std::int64_t nvls_channels = 0;
  double network_us = 0;    ///< latency from a GPU to one of another node
  double told_us = 0;       ///< what the adapter tells NCCL of that; looked at from 2.19 on
  double network_gbps = 0;  ///< a node's NICs together
  Operation operation = Operation::kAllReduce;  ///< it may be an all-gather or a reduce-scatter

  std::int64_t ranks_in_node() const { return ranks / nodes; }
};

/// How many times a rank of a ring sends: 2(n-1) for an all-reduce, n-1 for its halves.
constexpr std::int64_t nccl_ring_steps(Operation operation, std::int64_t ranks) {
  return operation == Operation::kAllReduce ? 2 * (ranks - 1) : ranks - 1;
}

struct NcclEstimate {
  double latency_us = 0;
  double algorithm_gbps = 0;  ///< 0: NCCL does not use this algorithm with this protocol here
};

struct NcclChoice {
  NcclAlgorithm algorithm = NcclAlgorithm::kRing;
  NcclProtocol protocol = NcclProtocol::kSimple;
  std::int64_t channels = 1;       ///< thread blocks that take part: few for few bytes
  std::int64_t most_channels = 1;  ///< as many share the speed of the rings
  std::int64_t threads = 256;      ///< one block has as many, when there is work for them
  double time_us = 0;              ///< NCCL's estimate
};

/// NCCL's view of the latency of a ring: once, and for each of its steps.
struct NcclHop {
  double base_us = 0;
  double step_us = 0;
};

/// Releases whose estimates differ from those of the one before.
enum class NcclEstimates {
  k2_5_7,
  k2_7_8,
  k2_12_12,
  k2_18_3,
  k2_19_3,
  k2_21_5,
  k2_23_4,
  k2_24_3,
  k2_25_1,
  k2_27_3,
  k2_28_3,
  k2_28_9,
  k2_29_2,
  k2_29_7,
  k2_30_3
};

}  // namespace steptime
