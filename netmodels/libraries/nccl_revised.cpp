// NCCL's estimates from 2.19 on, as ten steps of change since 2.18.3. Times in us, bandwidths in
// GB/s.
//
//   2.19    trees with Simple: 28 us a hop; NVLS 23 us; NVLS turns a channel into time by 5/6
//   2.21    NVLS 25 us; Hopper's LL twice as fast; LL half of a ring's speed
//   2.23    trees with Simple: base 8.4, hops 4 and 14 us; LL128 as fast with one GPU a node;
//           2(n-1) steps of a ring cross nodes; PAT for all-gather and reduce-scatter
//   2.24    PAT .75 (.85)
//   2.25    a row for Blackwell
//   2.27    NVLS of all-gather and reduce-scatter sends to n-1; LL128 on every GPU from 7.0 on
//   2.28    NVLS by its efficiency; Blackwell's trees slower
//   2.28.9  NVLS trees 20.9 us a hop (14); Blackwell's LL128 34.6 on two nodes
//   2.29.2  Blackwell's LL128 34.5; the correction of trees for its NVLS trees, too
//   2.29.7  Blackwell's LL128 40
//   2.30.3  Blackwell's NVLS trees 80 a channel on more than two nodes
//
// Scope: trees, rings, NVLS and PAT; no CollNet plug-in, no tuner plug-in, no registered windows
// (symmetric kernels). NCCL computes in single precision, this in double.
// Validation: tests/netmodels/libraries/nccl_revised_test.cpp.
// Source: NVIDIA/nccl src/graph/tuning.cc of v2.19.3-1, v2.21.5-1, v2.23.4-1, v2.24.3-1, v2.25.1-1,
// v2.27.3-1, v2.28.3-1, v2.28.9-1, v2.29.2-1, v2.29.7-1 and v2.30.3-1; v2.30.7-1 is the same.
#include "netmodels/libraries/nccl_revised.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace steptime {
namespace {

using Release = NcclEstimates;
constexpr auto kTree = NcclAlgorithm::kTree;
constexpr auto kRing = NcclAlgorithm::kRing;
constexpr auto kNvls = NcclAlgorithm::kNvls;
constexpr auto kPat = NcclAlgorithm::kPat;
constexpr auto kLl = NcclProtocol::kLl;
constexpr auto kLl128 = NcclProtocol::kLl128;
constexpr auto kSimple = NcclProtocol::kSimple;

using ByProtocol = std::array<double, 3>;       // LL, LL128, Simple
using ByAlgorithm = std::array<ByProtocol, 2>;  // tree, ring
constexpr ByAlgorithm kBase{{{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}}};
constexpr ByAlgorithm kNvlink{{{.6, 1.25, 4.0}, {.6, 1.9, 3.4}}};
constexpr ByAlgorithm kPci{{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}}};
constexpr ByAlgorithm kNet{{{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}}};
/// A hop of a tree with Simple before 2.23, wherever it leads; the base is 0 then.
constexpr double kOldTreeHop = 28;

enum Generation { kVolta, kAmpere, kHopper, kBlackwell };
using ByNodes = std::array<double, 3>;  // 1, 2, more
using ByGeneration = std::array<ByNodes, 4>;
constexpr ByGeneration kMostLl{
    {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}}};
constexpr ByNodes kMostLlHopper2_19{87.7, 22.5, 19.0};
constexpr ByGeneration kMostRingLl128{
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {73.4, 73.4, 73.4}}};
constexpr ByGeneration kMostTreeLl128{
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29.0}, {73.4, 73.4, 58.0}}};
constexpr ByGeneration kMostTree{
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {77.4, 82.8, 72.0}}};
constexpr ByNodes kMostTreeLl128Blackwell2_28{55.6, 31.67, 20.0};
constexpr ByNodes kMostTreeBlackwell2_28{70.0, 42.8, 24.0};
constexpr ByGeneration kMostNvlsTree{
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96.0, 43.1}}};
constexpr std::array<double, 4> kNvlsEfficiency{0, 0, .85, .74};
constexpr double kNvlsOfRing = 5.0 / 6;

/// What trees lose at medium sizes: a factor per power of two from 64 B on. The last one holds from
/// 2.29.2 on.
constexpr std::array<std::array<double, 24>, 3> kCorrection{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
      .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};

int log2_floor(std::int64_t n) {
  return n < 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
}

std::size_t at(NcclProtocol p) {
  return static_cast<std::size_t>(p);
}

/// PAT takes what trees do.
std::size_t at(NcclAlgorithm a) {
  return a == kRing ? 1 : 0;
}

bool all_reduces(const NcclGraph& g) {
  return g.operation == Operation::kAllReduce;
}

Generation generation_of(const NcclGraph& g, bool knows_blackwell) {
  if (g.compute_capability >= 100 && knows_blackwell) return kBlackwell;
  if (g.compute_capability >= 90) return kHopper;
  return g.compute_capability >= 80 ? kAmpere : kVolta;
}

std::size_t nodes_at(const NcclGraph& g) {
  return static_cast<std::size_t>(std::min<std::int64_t>(g.nodes, 3) - 1);
}

}  // namespace

NcclHop NcclRevision::hop(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p) const {
  const bool old_tree = a != kRing && p == kSimple && !from(Release::k2_23_4);
  if (old_tree) {
    // Power systems favour trees.
    const bool favoured = g.power && !g.nvlink;
    return {0, favoured ? kPci[at(kRing)][at(p)] : kOldTreeHop};
  }
  if (g.power && !g.nvlink && a != kRing && p == kSimple)
    return {kBase[at(a)][at(p)], kPci[at(kRing)][at(p)]};
  return {kBase[at(a)][at(p)], (g.nvlink ? kNvlink : kPci)[at(a)][at(p)]};
}

double NcclRevision::nvls_bus_gbps(const NcclGraph& g) const {
  const auto channels = static_cast<double>(g.nvls_channels);
  if (channels < 1) return 0;
  const double speed = g.nvls_gbps / channels;
  const double speed_between = std::max(speed, g.nvls_between_gbps / channels);
  const auto gpus = static_cast<double>(g.ranks_in_node());
  const double others = (gpus - 1) / gpus;
  if (!from(Release::k2_28_3)) {
    if (g.nodes > 1) return channels * (g.nodes == 2 ? speed : speed / 2);
    if (all_reduces(g) || !from(Release::k2_27_3)) return channels * speed;
    return channels * std::min(speed * others, speed_between * .9);
  }
  if (channels < 2) return 0;
  const Generation generation = generation_of(g, true);
  const double inside = speed * kNvlsEfficiency[generation] * (channels - 1) / channels *
                        (all_reduces(g) ? 2 : others);
  const double between = g.nodes == 2 ? 2 * speed_between : speed_between;
  double most = std::numeric_limits<double>::infinity();
  if (g.nodes > 1) {
    most = kMostNvlsTree[generation][nodes_at(g)];
    if (generation == kBlackwell && g.nodes > 2) {
      if (from(Release::k2_28_9)) most = 43.8;
      if (from(Release::k2_30_3)) most = 80;
    }
  }
  return channels * std::min({inside, between, most});
}

double NcclRevision::bus_gbps(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p) const {
  if (a == kNvls) return nvls_bus_gbps(g);
  const Generation generation = generation_of(g, from(Release::k2_25_1));
  const std::size_t nodes = nodes_at(g);
  const auto channels = static_cast<double>(g.channels);
  // On one node the GPU limits LL, on several the CPU.
  const Generation limits_ll = g.nodes == 1 ? generation : (g.amd ? kAmpere : kVolta);
  const double most_ll = limits_ll == kHopper && !from(Release::k2_21_5)
                             ? kMostLlHopper2_19[nodes]
                             : kMostLl[limits_ll][nodes];
  const double speed = a != kRing && g.tree_gbps > 0 ? g.tree_gbps : g.channel_gbps;
  double bw = channels * speed;
  if (a == kPat) return bw * (from(Release::k2_24_3) ? .75 : .85);
  if (a == kRing) {
    if (p == kLl) {
      const double quarter = g.nodes > 1 || all_reduces(g) ? .25 : 1.0 / 3;
      return std::min(most_ll, bw * (from(Release::k2_21_5) ? .5 : quarter));
    }
    if (p == kSimple) return bw;
    double most = kMostRingLl128[generation][nodes];
    if (generation == kBlackwell) {
      if (from(Release::k2_28_9) && g.nodes == 2) most = 34.6;
      if (from(Release::k2_29_2) && g.nodes != 2) most = 34.5;
      if (from(Release::k2_29_7)) most = 40;
    }
    // Below two ranks a node a GPU sends and receives through the adapter at once.
    const bool alone = g.ranks < 2 * g.nodes && !from(Release::k2_23_4);
    return std::min(bw * (alone ? .7 : .92), channels * most);
  }
  const bool slower = generation == kBlackwell && from(Release::k2_28_3);
  const double most_tree = (slower ? kMostTreeBlackwell2_28 : kMostTree[generation])[nodes];
  const double most_ll128 =
      (slower ? kMostTreeLl128Blackwell2_28 : kMostTreeLl128[generation])[nodes];
  bw = std::min(bw * .92, channels * most_tree);
  if (p == kLl) bw = std::min(bw / 3.8, most_ll);
  if (p == kLl128)
    bw = std::min(bw * (g.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0), channels * most_ll128);
  // Without an adapter, or with one GPU beside it, the search falls back to plain trees.
  return g.nodes == 1 || g.ranks == g.nodes ? bw * .85 : bw;
}

bool NcclRevision::enabled(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p) const {
  if (a == kTree && !all_reduces(g)) return false;
  if (a == kPat) {
    return !all_reduces(g) && p == kSimple && g.nodes > 1 && g.nodes == g.ranks &&
           g.compute_capability >= 60 && from(Release::k2_23_4);
  }
  // Between nodes all-gathers and reduce-scatters need a plug-in for NVLS.
  if (a == kNvls) return p == kSimple && g.nvls_gbps > 0 && (g.nodes == 1 || all_reduces(g));
  if (p != kLl128) return true;
  const int cc = g.compute_capability;
  const bool blackwell = (cc == 100 || cc == 120) && from(Release::k2_25_1);
  const bool tested =
      cc == 70 || cc == 80 || cc == 90 || blackwell || (cc >= 70 && from(Release::k2_27_3));
  return tested && g.nvlink && (g.nodes == 1 || g.nic_near_gpu);
}

double NcclRevision::algorithm_gbps(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p) const {
  if (!enabled(g, a, p)) return 0;
  const double bus = bus_gbps(g, a, p);
  const auto of_ring =
      static_cast<double>(g.ranks) / static_cast<double>(nccl_ring_steps(g.operation, g.ranks));
  if (a == kRing) return bus * of_ring;
  if (a == kTree) return bus * .5;
  if (!all_reduces(g) && from(Release::k2_23_4)) return bus;
  return bus * (from(Release::k2_28_3) ? of_ring : kNvlsOfRing);
}

double NcclRevision::latency_us(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p) const {
  const int deep = log2_floor(g.nodes);
  if (a == kNvls) {
    const double inside = from(Release::k2_21_5) ? 25 : 23;
    const double between = (from(Release::k2_28_9) ? 20.9 : 14) + 2 * g.told_us;
    return g.nodes == 1 ? inside : inside + 2 * deep * between;
  }
  const NcclHop inside = hop(g, a, p);
  const bool alone = g.ranks == g.nodes;
  double between = kNet[at(a)][at(p)];
  if (from(Release::k2_23_4)) {
    // With one rank a node nothing hides a crossing.
    if (alone) between = kNet[at(kTree)][at(p)];
  } else if (a == kTree && p == kSimple) {
    between = kOldTreeHop;
  }
  // The adapter's own, and with Simple once more for the flush.
  between += g.told_us * (p == kSimple ? 2 : 1);
  if (a == kPat) return 8 + deep * between / 3.5 + 2.8 * static_cast<double>(g.ranks);
  if (a == kTree) {
    const auto chain = static_cast<double>(g.ranks_in_node() - 1);
    return inside.base_us + 2 * (chain * inside.step_us + deep * between);
  }
  const auto steps = static_cast<double>(nccl_ring_steps(g.operation, g.ranks));
  const auto nodes = static_cast<double>(g.nodes);
  double crossings = 0;
  double step = inside.step_us;
  if (g.nodes > 1) {
    crossings = nodes - 1;
    if (all_reduces(g)) crossings = from(Release::k2_23_4) ? 2 * (nodes - 1) : 2 * nodes;
    // Every step posts to the network.
    const double post = g.amd ? 2.0 : 1.0;
    step = std::max(step, p == kSimple ? 3 * post : post);
  }
  return inside.base_us + (steps - crossings) * step + crossings * between;
}

double NcclRevision::time_us(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p,
                             std::int64_t bytes) const {
  double bandwidth = algorithm_gbps(g, a, p);
  if (bandwidth <= 0) return -1;
  const auto log_size = static_cast<std::size_t>(log2_floor(bytes >> 6));
  const std::size_t corrected = from(Release::k2_29_2) ? 24 : 23;
  const bool nvls_tree = a == kNvls && g.nodes > 1 && g.compute_capability >= 100 && !g.power &&
                         from(Release::k2_29_2);
  if ((a == kTree || nvls_tree) && log_size < corrected) bandwidth *= kCorrection[at(p)][log_size];
  double latency = latency_us(g, a, p);
  const bool plateau = a == kRing && p == kSimple && g.nodes > 1 && all_reduces(g);
  if (plateau && bytes / (2 * g.channels * g.ranks) >= 64)
    latency *= g.compute_capability < 80 ? 1.9 : 1.4;
  return latency + static_cast<double>(bytes) / (1000 * bandwidth);
}

}  // namespace steptime
