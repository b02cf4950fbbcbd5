// The kernels over k nodes of g GPUs, n = k g ranks:
//
//   ring   base + r ((2n - 2 - x) max(step, post) + x cross) + 2(n-1)/n M / bus
//          with x = min(2k, 2n-2) crossings; half of each for an all-gather and a reduce-scatter
//   PAT    as NCCL estimates it
//   tree   base + 2 ((g - 1) step + ceil(log2 k) t cross) + M / bandwidth
//   NVLS   25 us + 2 ceil(log2 k) (alpha + 18.5 us) + D(M) + D(min(M, 16 MiB))
//          with D(M) = max((1 + 1/g) M / (.78 links), passes M / NICs)
//
// A latency is a sum over the hops of a chunk's way. Inside a node a hop is a step of NVIDIA's
// table, though never less than a proxy needs to post a message (1 us, AMD 2 us, Simple three
// times that): every step of a ring waits for those that cross. A crossing costs
//
//   cross = alpha + proxy      proxy = 2.6, 6.1, 11.6 us for LL, LL128, Simple
//
// with alpha from GPU to GPU of the network at hand; proxy is what NVIDIA counts for a crossing of
// a tree (5, 8.5, 14 us) without the 2.4 us of the InfiniBand that this was measured on. Messages
// that are long cost more than their bytes: r grows from 1 to 1.4 (before Ampere 1.9: NVIDIA's
// "plateau") where a chunk grows from 64 B to 32 KiB with Simple; t from 1 to 1.55, with LL and
// LL128 where the message grows from 512 B to 8 KiB. Bandwidths are the release's own, but
//
//   * LL carries as many flags as data, LL128 8 B in 128: no more of M per second than that
//   * a tree sends M through the NICs once where two nodes hold a root each, else up and down
//   * with one GPU a node there is no chain whose pipeline NCCL's correction of trees stands for
//
// Scope: an idle machine, one path between nodes; no SHARP, no adapter that adds up. CPUs of one
// make in all nodes. Rendezvous of single networks is not modelled (Slingshot's, from 4 KiB on).
// Fitted: 1.55, 32 KiB, .78 and 16 MiB, to the tables that traces/README.md names for it, with the
// form chosen by all of them.
// Validation: configs/papers/collectives/nccl-between-nodes.json.
// Source: NVIDIA/nccl v2.18.3-1 and v2.30.4-1 src/graph/tuning.cc (steps, posts, crossings,
// plateau, NVLS trees); assumed: 2.4 us, as an MPI message between GPUs over EDR InfiniBand takes
// (aistabci/abci2.0benchmark pt2pt/README.md).
#include "netmodels/libraries/nccl_between.h"

#include "netmodels/libraries/nccl_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace steptime {
namespace {

constexpr auto kTree = NcclAlgorithm::kTree;
constexpr auto kRing = NcclAlgorithm::kRing;
constexpr auto kSimple = NcclProtocol::kSimple;
constexpr NcclTuning kRevised(NcclTuning::Release::k2_18_3);
constexpr NcclTuning kBlackwell(NcclTuning::Release::k2_30_3);
constexpr double kGiga = 1000;  ///< bytes per us in one GB/s

constexpr std::array<double, 3> kProxy{2.6, 6.1, 11.6};
/// Bytes on the wire for one of data.
constexpr std::array<double, 3> kWire{2, 128.0 / 120, 1};
constexpr double kSimpleTreeBase = 8.4;  ///< v2.30.4; 2.18.3 has none
constexpr double kNvlsTreeBase = 25;
constexpr double kNvlsTreeProxy = 18.5;
constexpr double kNvlsTreeShare = .78;
constexpr double kNvlsRound = 16 << 20;
constexpr double kLongTree = .55;
constexpr double kLongRing = .4;
constexpr double kLongRingVolta = .9;

double of(const std::array<double, 3>& table, NcclProtocol p) {
  return table[static_cast<std::size_t>(p)];
}

/// 0 up to `from`, 1 beyond `to`, in proportion to the logarithm in between.
double share(double x, double from, double to) {
  return std::clamp(std::log2(std::max(x, 1.0) / from) / std::log2(to / from), 0.0, 1.0);
}

/// How many levels of a tree lie between nodes.
double levels(const NcclGraph& g) {
  return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(g.nodes - 1)));
}

double post_us(const NcclGraph& g, NcclProtocol p) {
  return (g.amd ? 2 : 1) * (p == kSimple ? 3 : 1);
}

double ring_latency_us(const NcclGraph& g, const NcclChoice& choice, double bytes) {
  const NcclProtocol p = choice.protocol;
  const NcclHop hop = kRevised.hop(g, kRing, p);
  const auto ranks = static_cast<double>(g.ranks);
  const auto steps = static_cast<double>(nccl_ring_steps(g.operation, g.ranks));
  const double passes = g.operation == Operation::kAllReduce ? 2 : 1;
  const double crossings = std::min(steps, passes * static_cast<double>(g.nodes));
  const double hops = (steps - crossings) * std::max(hop.step_us, post_us(g, p)) +
                      crossings * (g.network_us + of(kProxy, p));
  if (p != kSimple) return hop.base_us + hops;
  const double chunk = bytes / (static_cast<double>(choice.most_channels) * ranks);
  const double longer = g.compute_capability < 80 ? kLongRingVolta : kLongRing;
  return hop.base_us + hops * (1 + longer * share(chunk, 64, 32768));
}

double tree_latency_us(const NcclGraph& g, const NcclChoice& choice, double bytes) {
  const NcclProtocol p = choice.protocol;
  const NcclHop hop = kRevised.hop(g, kTree, p);
  const double longer = p == kSimple
                            ? share(bytes / static_cast<double>(choice.most_channels), 64, 32768)
                            : share(bytes, 512, 8192);
  const double crossing = (g.network_us + of(kProxy, p)) * (1 + kLongTree * longer);
  const double chain = static_cast<double>(g.ranks_in_node() - 1) * hop.step_us;
  return (p == kSimple ? kSimpleTreeBase : hop.base_us) + 2 * (chain + levels(g) * crossing);
}

/// Times M, what goes through a node's NICs in each direction.
double passes(const NcclGraph& g, const NcclChoice& choice) {
  return g.nodes == 2 && choice.most_channels > 1 ? 1 : 2;
}

double ring_us(const NcclGraph& g, const NcclChoice& choice, double bytes) {
  const NcclProtocol p = choice.protocol;
  double bus = (g.compute_capability >= 100 ? kBlackwell : kRevised).bus_gbps(g, kRing, p);
  // NVIDIA's factor of 1/4 of 2.18.3 is 1/2 since 2.21.
  if (p == NcclProtocol::kLl && g.compute_capability < 100) bus *= 2;
  bus = std::min(bus, g.network_gbps / of(kWire, p));
  const auto n = static_cast<double>(g.ranks);
  const auto steps = static_cast<double>(nccl_ring_steps(g.operation, g.ranks));
  return ring_latency_us(g, choice, bytes) + steps / n * bytes / (kGiga * bus);
}

double tree_us(const NcclTuning& tuning, const NcclGraph& g, const NcclChoice& choice,
               double bytes) {
  const double wire = of(kWire, choice.protocol) * passes(g, choice) * bytes / g.network_gbps;
  const double latency = tuning.estimate(g, kTree, choice.protocol).latency_us;
  const double estimate = g.ranks == g.nodes ? 0 : choice.time_us - latency;
  return tree_latency_us(g, choice, bytes) + std::max(wire / kGiga, estimate);
}

double nvls_us(const NcclGraph& g, const NcclChoice& choice, double bytes) {
  const double inside = 1 + static_cast<double>(g.nodes) / static_cast<double>(g.ranks);
  const auto data_us = [&](double m) {
    return std::max(inside * m / (kGiga * kNvlsTreeShare * g.switch_gbps) * nccl_ramp(g, m),
                    passes(g, choice) * m / (kGiga * g.network_gbps));
  };
  return kNvlsTreeBase + 2 * levels(g) * (g.network_us + kNvlsTreeProxy) + data_us(bytes) +
         data_us(std::min(bytes, kNvlsRound));
}

}  // namespace

double nccl_between_us(const NcclTuning& tuning, const NcclGraph& graph, const NcclChoice& choice,
                       std::int64_t bytes) {
  const auto m = static_cast<double>(bytes);
  if (choice.algorithm == NcclAlgorithm::kPat) return choice.time_us;
  if (choice.algorithm == NcclAlgorithm::kNvls) return nvls_us(graph, choice, m);
  return choice.algorithm == kTree ? tree_us(tuning, graph, choice, m) : ring_us(graph, choice, m);
}

}  // namespace steptime
