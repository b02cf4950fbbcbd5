// NCCL's estimates, release by release. Times in us, bandwidths in GB/s. From 2.19 on they are in
// netmodels/libraries/nccl_revised.cpp.
//
// Scope: trees, rings and NVLS; no CollNet. All-gathers and reduce-scatters take rings. NCCL
// computes in single precision, this in double: a choice may differ where two estimates agree to
// six digits. Validation: tests/netmodels/libraries/nccl_tuning_test.cpp, the published formula
// evaluated independently. Source: NVIDIA/nccl v2.5.7-1, v2.7.8-1, v2.12.12-1 and v2.18.3-1,
// src/graph/tuning.cc ncclTopoTuneModel() and ncclTopoGetAlgoTime(), src/enqueue.cc getAlgoInfo().
#include "netmodels/libraries/nccl_tuning.h"

#include "netmodels/libraries/nccl_revised.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

namespace steptime {
namespace {

using Release = NcclTuning::Release;
constexpr auto kTree = NcclAlgorithm::kTree;
constexpr auto kRing = NcclAlgorithm::kRing;

using ByProtocol = std::array<double, 3>;       // LL, LL128, Simple
using ByAlgorithm = std::array<ByProtocol, 2>;  // tree, ring
enum Hardware { kNvlink, kPci, kNet };

struct Latencies {
  ByAlgorithm base;
  std::array<ByAlgorithm, 3> step;  // by hardware
};

constexpr Latencies k2_5_7{{{{4.4, 4.4, 0}, {3.6, 3.6, 8.4}}},
                           {{{{{.5, 1.9, 28}, {.4, 2.5, 5.7}}},
                             {{{1.0, 1.9, 28}, {1.0, 2.5, 5.7}}},
                             {{{5.0, 7.5, 50}, {.9, 2.5, 6.6}}}}}};
constexpr Latencies k2_7_8{{{{4.4, 4.4, 0}, {3.6, 10.0, 8.4}}},
                           {{{{{.52, 1.2, 28}, {.47, 1.9, 3.4}}},
                             {{{1.0, 1.9, 28}, {1.0, 2.5, 5.7}}},
                             {{{5.0, 8.5, 50}, {2.7, 4.0, 9.6}}}}}};
constexpr Latencies k2_12_12{{{{4.4, 4.4, 0}, {3.6, 10.0, 8.4}}},
                             {{{{{.52, 1.25, 28}, {.47, 1.9, 3.4}}},
                               {{{1.0, 1.9, 28}, {1.0, 2.5, 5.7}}},
                               {{{5.0, 8.5, 28}, {2.7, 4.0, 28}}}}}};
constexpr Latencies k2_18_3{{{{6.8, 14.0, 0}, {6.6, 14.0, 8.4}}},
                            {{{{{.6, 1.25, 4}, {.6, 1.9, 3.4}}},
                              {{{1.0, 1.9, 6}, {1.0, 2.5, 5.7}}},
                              {{{5.0, 8.5, 14}, {2.7, 4.0, 14.0}}}}}};

const Latencies& latencies(Release release) {
  switch (release) {
    case Release::k2_5_7:
      return k2_5_7;
    case Release::k2_7_8:
      return k2_7_8;
    case Release::k2_12_12:
      return k2_12_12;
    default:
      return k2_18_3;
  }
}

// What trees lose at medium sizes: a factor per power of two from 64 B on.
using Correction = std::array<std::array<double, 23>, 3>;
constexpr Correction kCorrection2_5{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .5, .5, .6, .7, .8, .9, .9, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .8, .7, .7, .7, .6, .6, .7, .7, .8, .8, .9, .9, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .5, .5, .6, .6, .7, .8, .9, 1}}};
constexpr Correction kCorrection2_7{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .5, .6, .6, .7, .7, .8, .9, .9, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .5, .5, .6, .6, .7, .8, .9, 1}}};
constexpr Correction kCorrection2_12{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};

// By generation (Volta and before, Ampere, Hopper) and number of nodes (1, 2, more).
using ByNodes = std::array<double, 3>;
constexpr std::array<ByNodes, 3> kMostLl{
    {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {87.7, 22.5, 19.0}}};
constexpr std::array<ByNodes, 3> kMostTreePerChannel{
    {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}}};
constexpr std::array<ByNodes, 3> kMostRingLl128PerChannel2_18{
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}}};
constexpr std::array<ByNodes, 3> kMostTreeLl128PerChannel2_18{
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29.0}}};

// NVLS, 2.18.3. Thread blocks: NCCL_NVLS_NCHANNELS; of Blackwell 24 and 32 (v2.27.3-1
// src/transport/nvls.cc).
constexpr double kNvlsBase = 23;
constexpr double kNvlsTreeStep = 19;
constexpr std::int64_t kNvlsBlocks = 16;

/// On several nodes the sums go along trees.
double nvls_ratio(const NcclGraph& g) {
  const auto nodes = static_cast<double>(g.nodes);
  return g.nodes == 1 ? 5.0 / 6.0 : .7 * nodes / (2 * (nodes - 1));
}

int log2_floor(std::int64_t n) {
  return n < 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
}

std::size_t at(NcclProtocol p) {
  return static_cast<std::size_t>(p);
}
std::size_t at(NcclAlgorithm a) {
  return static_cast<std::size_t>(a);
}

/// What NCCL takes for one channel: between two nodes trees may have faster ones than rings.
double channel_gbps(const NcclGraph& g, NcclAlgorithm a) {
  return a == kTree && g.tree_gbps > 0 ? g.tree_gbps : g.channel_gbps;
}

/// What LL gets of a ring's speed: an all-gather inside a node has no sum to wait for.
double ll_share(const NcclGraph& g) {
  return g.nodes > 1 || g.operation == Operation::kAllReduce ? .25 : 1.0 / 3;
}

double bandwidth_2_5_7(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p) {
  // Single-channel speeds were whole numbers then.
  double bw = static_cast<double>(g.channels) * std::floor(channel_gbps(g, a));
  if (a == kRing) {
    if (p == NcclProtocol::kLl) return bw * ll_share(g);
    if (p == NcclProtocol::kLl128) return std::min(bw * 120 / 128, 100.0);
    return bw;
  }
  bw = std::min(bw * .9, g.nodes > 1 ? 70.0 : 90.0);
  if (p == NcclProtocol::kLl) return bw / 3;
  return p == NcclProtocol::kLl128 ? bw * 7 / 9 : bw;
}

double bandwidth_2_7_8(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p) {
  const auto channels = static_cast<double>(g.channels);
  const double most_ll128 = 16.7 * channels;
  const bool ampere = g.compute_capability == 80;
  double bw = channels * channel_gbps(g, a);
  if (ampere) bw = std::min(bw, 235.0);
  if (a == kRing) {
    if (p == NcclProtocol::kLl) return bw * ll_share(g);
    // Below two ranks per node a GPU sends and receives through the NIC at once.
    if (p == NcclProtocol::kLl128)
      return std::min(bw * (g.ranks < 2 * g.nodes ? .7 : .92), most_ll128);
    return bw;
  }
  const bool ampere_ll128 = ampere && p == NcclProtocol::kLl128;
  bw = std::min(bw * .9,
                g.nodes > 2 ? (ampere_ll128 ? 105.0 : 80.0) : (ampere_ll128 ? 130.0 : 110.0));
  if (p == NcclProtocol::kLl) return bw / 3.8;
  if (p == NcclProtocol::kLl128)
    return std::min(bw * (g.nodes == 1 ? 7.0 / 9.0 : .915), most_ll128 * 7 / 9);
  return bw;
}

double bandwidth_2_12(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p, Release release) {
  const bool newest = release == Release::k2_18_3;
  const auto channels = static_cast<double>(g.channels);
  const std::size_t generation = newest && g.compute_capability >= 90 ? 2
                                 : newest ? (g.compute_capability >= 80 ? 1 : 0)
                                          : (g.compute_capability == 80 ? 1 : 0);
  const auto nodes = static_cast<std::size_t>(std::min<std::int64_t>(g.nodes, 3) - 1);
  // On one node the GPU limits LL, on several the CPU.
  const double most_ll = kMostLl[g.nodes == 1 ? generation : (g.amd ? 1 : 0)][nodes];
  double bw = channels * channel_gbps(g, a);
  if (!newest && generation == 1) bw = std::min(bw, 235.0);
  if (a == kRing) {
    if (p == NcclProtocol::kLl) return std::min(most_ll, bw * ll_share(g));
    if (p == NcclProtocol::kLl128)
      return std::min(bw * (g.ranks < 2 * g.nodes ? .7 : .92),
                      channels * kMostRingLl128PerChannel2_18[generation][nodes]);
    return bw;
  }
  bw = std::min(bw * .92, channels * kMostTreePerChannel[generation][nodes]);
  if (p == NcclProtocol::kLl) bw = std::min(bw / 3.8, most_ll);
  if (p == NcclProtocol::kLl128)
    bw = std::min(bw * (g.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                  channels * kMostTreeLl128PerChannel2_18[generation][nodes]);
  // Without a NIC, or with one GPU beside it, the search falls back to plain trees.
  const bool plain = g.nodes == 1 || g.ranks == g.nodes;
  return newest && plain ? bw * .85 : bw;
}

}  // namespace

std::string_view name(NcclAlgorithm algorithm) {
  if (algorithm == NcclAlgorithm::kNvls) return "NVLS";
  if (algorithm == NcclAlgorithm::kPat) return "PAT";
  return algorithm == kTree ? "Tree" : "Ring";
}

std::string_view name(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::kLl:
      return "LL";
    case NcclProtocol::kLl128:
      return "LL128";
    case NcclProtocol::kSimple:
      return "Simple";
  }
  return "";
}

std::optional<NcclAlgorithm> nccl_algorithm(std::string_view word) {
  if (word == "auto") return std::nullopt;
  if (word == "nvls") return NcclAlgorithm::kNvls;
  if (word == "pat") return NcclAlgorithm::kPat;
  return word == "tree" ? NcclAlgorithm::kTree : NcclAlgorithm::kRing;
}

std::optional<NcclProtocol> nccl_protocol(std::string_view word) {
  if (word == "auto") return std::nullopt;
  if (word == "ll") return NcclProtocol::kLl;
  return word == "ll128" ? NcclProtocol::kLl128 : NcclProtocol::kSimple;
}

double NcclTuning::bus_gbps(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p) const {
  if (release_ > Release::k2_18_3) return NcclRevision(release_).bus_gbps(g, a, p);
  if (a == NcclAlgorithm::kNvls) return g.nvls_gbps;
  return release_ == Release::k2_5_7   ? bandwidth_2_5_7(g, a, p)
         : release_ == Release::k2_7_8 ? bandwidth_2_7_8(g, a, p)
                                       : bandwidth_2_12(g, a, p, release_);
}

double NcclTuning::bandwidth(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p) const {
  double per_bus =
      static_cast<double>(g.ranks) / static_cast<double>(nccl_ring_steps(g.operation, g.ranks));
  if (a == kTree) per_bus = .5;
  if (a == NcclAlgorithm::kNvls) per_bus = nvls_ratio(g);
  return bus_gbps(g, a, p) * per_bus;
}

NcclHop NcclTuning::hop(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p) const {
  if (release_ > Release::k2_18_3) return NcclRevision(release_).hop(g, a, p);
  const Latencies& table = latencies(release_);
  return {table.base[at(a)][at(p)], table.step[g.nvlink ? kNvlink : kPci][at(a)][at(p)]};
}

double NcclTuning::latency(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p) const {
  if (a == NcclAlgorithm::kNvls)
    return kNvlsBase + (g.nodes > 1 ? static_cast<double>(2 * (g.nodes - 1)) * kNvlsTreeStep : 0);
  const Latencies& table = latencies(release_);
  const Hardware inside = g.nvlink ? kNvlink : kPci;
  double intra = table.step[inside][at(a)][at(p)];
  const double inter = table.step[kNet][at(a)][at(p)];
  // Power systems favour trees.
  if (release_ >= Release::k2_12_12 && g.power && inside == kPci && a == kTree &&
      p == NcclProtocol::kSimple) {
    intra = table.step[kPci][at(kRing)][at(p)];
  }
  if (g.nodes > 1 && p == NcclProtocol::kLl && release_ >= Release::k2_7_8 &&
      release_ < Release::k2_18_3) {
    intra *= 1.8;
  }
  const double base = table.base[at(a)][at(p)];
  const auto nodes = static_cast<double>(g.nodes);
  if (a == kTree) {
    const std::int64_t deep = g.ranks_in_node() - 1;
    return base + 2 * (static_cast<double>(deep) * intra + log2_floor(g.nodes) * inter);
  }
  const auto steps = static_cast<double>(nccl_ring_steps(g.operation, g.ranks));
  const bool both = g.operation == Operation::kAllReduce;
  if (release_ == Release::k2_5_7) return base + steps * (g.nodes > 1 ? inter : intra);
  const double inter_steps = g.nodes == 1                  ? 0
                             : !both                       ? nodes - 1
                             : release_ == Release::k2_7_8 ? 2 * (nodes - 1)
                                                           : 2 * nodes;
  if (release_ == Release::k2_18_3 && g.nodes > 1) {
    // Every step posts to the network.
    const double post = g.amd ? 2.0 : 1.0;
    intra = std::max(intra, p == NcclProtocol::kSimple ? 3 * post : post);
  }
  return base + (steps - inter_steps) * intra + inter_steps * inter;
}

bool NcclTuning::enabled(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p) const {
  if (a == NcclAlgorithm::kPat || (a != kRing && g.operation != Operation::kAllReduce))
    return false;
  if (a == NcclAlgorithm::kNvls)
    return p == NcclProtocol::kSimple && release_ == Release::k2_18_3 && g.nvls_gbps > 0;
  if (p != NcclProtocol::kLl128) return true;
  // Other cases are untested: the store of a line might be torn.
  const int cc = g.compute_capability;
  const bool tested = cc == 70 || (cc == 80 && release_ >= Release::k2_7_8) ||
                      (cc == 90 && release_ >= Release::k2_18_3);
  return tested && g.nvlink && (g.nodes == 1 || g.nic_near_gpu);
}

NcclEstimate NcclTuning::estimate(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p) const {
  if (release_ > Release::k2_18_3) {
    const NcclRevision revision(release_);
    return {revision.latency_us(g, a, p), revision.algorithm_gbps(g, a, p)};
  }
  if (a == NcclAlgorithm::kPat) return {};  // came with 2.23
  return {latency(g, a, p), enabled(g, a, p) ? bandwidth(g, a, p) : 0};
}

double NcclTuning::time_us(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p,
                           std::int64_t bytes) const {
  if (release_ > Release::k2_18_3) return NcclRevision(release_).time_us(g, a, p, bytes);
  auto [latency, bandwidth] = estimate(g, a, p);
  if (bandwidth <= 0) return -1;
  const auto log_size = static_cast<std::size_t>(log2_floor(bytes >> 6));
  if (a == kTree) {
    const Correction& correction = release_ == Release::k2_5_7   ? kCorrection2_5
                                   : release_ == Release::k2_7_8 ? kCorrection2_7
                                                                 : kCorrection2_12;
    if (log_size < correction[at(p)].size()) bandwidth *= correction[at(p)][log_size];
  }
  const bool plateau = a == kRing && p == NcclProtocol::kSimple && g.nodes > 1 &&
                       g.operation == Operation::kAllReduce;
  if (plateau && (release_ == Release::k2_7_8 || release_ == Release::k2_12_12) &&
      static_cast<double>(bytes) >= static_cast<double>(g.ranks) / 16.0 * 65536) {
    latency *= 1.9;
  }
  if (plateau && release_ == Release::k2_18_3 && bytes / (2 * g.channels * g.ranks) >= 64) {
    latency *= g.compute_capability < 80 ? 1.9 : 1.4;
  }
  return latency + static_cast<double>(bytes) / (1000 * bandwidth);
}

std::vector<std::int64_t> NcclTuning::sizes_of_steps() {
  std::vector<std::int64_t> sizes;
  // From 2.29.2 on there is one more.
  for (std::size_t log_size = 0; log_size <= kCorrection2_5[0].size() + 1; ++log_size)
    sizes.push_back(std::int64_t{64} << log_size);
  return sizes;
}

NcclChoice NcclTuning::launch(const NcclGraph& g, NcclAlgorithm a, NcclProtocol p,
                              std::int64_t bytes) const {
  if (a == NcclAlgorithm::kNvls) {
    const bool blackwell = g.compute_capability >= 100 && release_ >= Release::k2_27_3;
    const std::int64_t blocks = blackwell ? (g.nodes > 1 ? 32 : 24) : kNvlsBlocks;
    return {a, p, blocks, blocks, 640};
  }
  NcclChoice choice{a, p, 2 * g.channels, 2 * g.channels, 512};  // each ring is used twice
  std::int64_t bytes_per_thread = 8;
  if (p == NcclProtocol::kLl128) choice.threads = 640;
  if (p == NcclProtocol::kSimple) {
    const bool slow = static_cast<double>(g.channels) * g.channel_gbps <= 12;
    if (slow && (a == kRing || release_ == Release::k2_5_7)) choice.threads = 256;
    bytes_per_thread = 64;
  }
  if (p == NcclProtocol::kLl && a == kRing) bytes_per_thread *= g.ranks;
  while (choice.channels > 1 && bytes < choice.channels * choice.threads * bytes_per_thread)
    --choice.channels;
  return choice;
}

}  // namespace steptime
