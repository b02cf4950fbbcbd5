// Times of push-pulls in an otherwise idle process, in us: a call takes 45, a push of an operation
// 2, and each operation on a GPU 15 besides its bytes.
#pragma once
#include "sim/network/cluster.h"
#include "tests/support/collectives.h"

#include <chrono>
#include <cstdint>
#include <string>

namespace steptime {

/// `merge`: its name or its object.
inline std::string push_pulls(const std::string& merge, const std::string& more = "") {
  const std::string value = merge.starts_with('{') ? merge : '"' + merge + '"';
  return R"({"type": "push-pulls", "merge": )" + value + more + "}";
}

/// Two GPUs; 1 MB takes 1 us + 1000 us between them.
inline Cluster pair_of_gpus(double reduction = 0) {
  Cluster cluster{.nodes = 1, .gpus_per_node = 2};
  cluster.intra_node = {std::chrono::microseconds(1), {1e9}};
  cluster.network = cluster.intra_node;
  cluster.reduction = {reduction};
  return cluster;
}

inline double us(const std::string& json, const Cluster& cluster, std::int64_t bytes) {
  return to_seconds(collective_of(json, cluster)->time({bytes})) * 1e6;
}

}  // namespace steptime
