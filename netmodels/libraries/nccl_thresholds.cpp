// NCCL 2.3 and 2.4: size thresholds instead of estimates.
//
// Scope: all-reduce, thresholds as shipped, 256 threads (128 doubled on Kepler are not modelled).
// Validation: tests/netmodels/libraries/nccl_thresholds_test.cpp.
// Source: NVIDIA/nccl v2.3.7-1 src/include/common_coll.h ncclGetCollResource(); v2.4.8-1
// src/init.cc ncclTreeThreshold() and ncclThreadThreshold(), src/enqueue.cc getKernelInfo().
#include "netmodels/libraries/nccl_tuning.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

namespace steptime {
namespace {

constexpr std::int64_t kFewestThreads = 64;
constexpr std::int64_t kMostThreads = 256;
constexpr std::int64_t kBytesPerThread = 8;  ///< before another channel takes part

std::int64_t divided_up(std::int64_t x, std::int64_t y) {
  return (x + y - 1) / y;
}

/// Inside a node every ring over NVLink is used twice.
std::int64_t most_channels(const NcclGraph& g) {
  return g.nodes == 1 && g.nvlink ? 2 * g.channels : g.channels;
}

/// Bytes per thread up to which LL is used.
std::int64_t ll_bytes_per_thread(const NcclGraph& g) {
  const std::int64_t inside = g.compute_capability < 70 ? 32 : 64;
  return g.nodes > 1 ? 2 * inside : inside;
}

}  // namespace

std::int64_t NcclThresholds::tree_threshold(std::int64_t nodes, std::int64_t ranks,
                                            std::int64_t channels, bool nvlink) {
  // In single precision, as there: the result is cut to a whole number of bytes.
  const float ring_bw = nvlink ? 5000.0F * static_cast<float>(channels) : 5000.0F;  // B/us
  float tree_bw = ring_bw * 2 / 3;
  if (nvlink) tree_bw = ring_bw * 3 / 4 * (nodes == 2 ? 2.0F : 1.0F);
  const float ring_us = 6.0F * static_cast<float>(ranks - 1);
  const auto hops = static_cast<float>(std::bit_width(static_cast<std::uint64_t>(nodes)) - 1);
  const std::int64_t per_node = ranks / nodes;
  const float tree_us = 15.0F * hops + 4.0F * static_cast<float>(per_node - 1);
  if (nodes < 2 || ring_us <= tree_us) return 0;
  if (tree_bw > ring_bw) return std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(ring_bw * tree_bw / (ring_bw - tree_bw) * (ring_us - tree_us));
}

NcclChoice NcclThresholds::choose(const NcclGraph& graph, std::int64_t bytes) const {
  return release_ == Release::k2_3_7 ? choose_2_3_7(graph, bytes) : choose_2_4_8(graph, bytes);
}

std::vector<std::int64_t> NcclThresholds::sizes_of_steps(const NcclGraph& g) const {
  std::vector<std::int64_t> sizes;
  const std::int64_t tree = tree_threshold(g.nodes, g.ranks, g.channels, g.nvlink);
  if (tree > 0 && tree < std::numeric_limits<std::int64_t>::max()) sizes.push_back(tree + 1);
  const std::int64_t per_thread = ll_bytes_per_thread(g);
  for (std::int64_t threads = kFewestThreads; threads <= kMostThreads; threads *= 2) {
    for (std::int64_t used = 1; used <= most_channels(g); ++used) {
      for (const std::int64_t each : {kBytesPerThread, per_thread, 4 * per_thread}) {
        sizes.push_back(used * threads * each + 1);
        sizes.push_back(used * threads * each * g.ranks + 1);
      }
    }
  }
  return sizes;
}

NcclChoice NcclThresholds::choose_2_3_7(const NcclGraph& g, std::int64_t bytes) const {
  const std::int64_t most = most_channels(g);
  const std::int64_t most_rings = g.ranks <= 4 ? 1 : kMostThreads / kFewestThreads;
  const auto rings = [&](std::int64_t threads) {
    return divided_up(bytes, kBytesPerThread * threads * g.ranks);
  };
  // Few threads take LL only while 8 bytes each are enough and few rings do.
  for (std::int64_t threads = kFewestThreads; threads < kMostThreads; threads *= 2) {
    if (rings(threads) > most_rings) continue;
    const std::int64_t used = std::clamp<std::int64_t>(rings(threads), 1, most);
    if (bytes <= g.ranks * used * threads * kBytesPerThread) {
      return {NcclAlgorithm::kRing, NcclProtocol::kLl, used, most, kMostThreads};
    }
  }
  const std::int64_t used = std::clamp<std::int64_t>(rings(kMostThreads), 1, most);
  if (bytes <= g.ranks * used * kMostThreads * ll_bytes_per_thread(g)) {
    return {NcclAlgorithm::kRing, NcclProtocol::kLl, used, most, kMostThreads};
  }
  return {NcclAlgorithm::kRing, NcclProtocol::kSimple, most, most, kMostThreads};
}

NcclChoice NcclThresholds::choose_2_4_8(const NcclGraph& g, std::int64_t bytes) const {
  const std::int64_t most = most_channels(g);
  const std::int64_t threshold = tree_threshold(g.nodes, g.ranks, g.channels, g.nvlink);
  const bool tree = threshold > 0 && bytes <= threshold;
  const NcclAlgorithm algorithm = tree ? NcclAlgorithm::kTree : NcclAlgorithm::kRing;
  const std::int64_t chunks = tree ? 1 : g.ranks;
  std::int64_t threads = kFewestThreads;
  while (divided_up(bytes, threads * chunks) > kBytesPerThread && threads < kMostThreads)
    threads *= 2;
  const std::int64_t used =
      std::clamp<std::int64_t>(divided_up(bytes, threads * chunks * kBytesPerThread), 1, most);
  const std::int64_t per_thread = ll_bytes_per_thread(g) * (tree ? 4 : 1);
  if (bytes <= used * threads * chunks * per_thread)
    return {algorithm, NcclProtocol::kLl, used, most, kMostThreads};
  return {algorithm, NcclProtocol::kSimple, most, most, kMostThreads};
}

}  // namespace steptime
