// Rings over the links of a cluster, as NCCL's search finds them.
//
// Scope: between nodes a channel per NIC, as fast as the NIC and its share of the links inside, for
// trees between two nodes up to twice as fast; inside a node, rings over NVLink where they close,
// from 2.8 on also through a third GPU, else one ring over PCIe. NCCL rounds speeds to a list and
// gives up after a number of tries; here rings keep the speed of their links, except on Hopper,
// where the list decides their number, and the search is exhaustive. Validation: DGX-1 rings: 6
// over 8 Volta GPUs, 4 over a quad (tests/netmodels/libraries/nccl_graph_test.cpp). Source:
// NVIDIA/nccl v2.7.8-1, v2.18.3-1 and v2.28.9-1 src/graph/search.cc, and src/graph/topo.h of
// v2.19.3-1, v2.22.3-1, v2.25.1-1 and v2.28.9-1 (NVLinks).
#include "netmodels/libraries/nccl_graph.h"

#include "netmodels/rdma.h"
#include "sim/network/gpu_ring.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace steptime {
namespace {

using Ring = std::vector<std::size_t>;

/// Beyond this many GPUs rings are counted by degree: the search would not end.
constexpr std::size_t kMostSearched = 9;
/// Steps after which the best packing so far stands.
constexpr std::int64_t kMostTries = 2'000'000;
/// The same for rings that pass through GPUs.
constexpr std::int64_t kMostTransitTries = 200'000;

/// The rings through 0..n-1 over pairs that have a link; each in one direction only.
std::vector<Ring> all_rings(std::span<const std::vector<int>> links, std::size_t n) {
  std::vector<Ring> rings;
  Ring ring{0};
  std::vector<bool> visited(n, false);
  visited[0] = true;
  const std::function<void()> extend = [&] {
    if (ring.size() == n) {
      if (links[ring.back()][0] > 0 && ring[1] < ring.back()) rings.push_back(ring);
      return;
    }
    for (std::size_t next = 1; next < n; ++next) {
      if (visited[next] || links[ring.back()][next] == 0) continue;
      visited[next] = true;
      ring.push_back(next);
      extend();
      ring.pop_back();
      visited[next] = false;
    }
  };
  extend();
  return rings;
}

/// Largest number of rings of which no link carries two; a ring may be taken again.
class Packing {
 public:
  Packing(std::vector<Ring> rings, std::vector<std::vector<int>> free, std::int64_t bound)
      : rings_(std::move(rings)), free_(std::move(free)), bound_(bound) {}

  std::int64_t best() {
    place(0, 0);
    return best_;
  }

 private:
  bool fits(const Ring& ring) const {
    // A link between two GPUs that the ring passes once is needed once.
    for (std::size_t i = 0; i < ring.size(); ++i) {
      if (free_[ring[i]][ring[(i + 1) % ring.size()]] == 0) return false;
    }
    return true;
  }
  void take(const Ring& ring, int count) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const std::size_t from = ring[i];
      const std::size_t to = ring[(i + 1) % ring.size()];
      free_[from][to] -= count;
      free_[to][from] -= count;
    }
  }
  void place(std::size_t first, std::int64_t placed) {
    best_ = std::max(best_, placed);
    for (std::size_t i = first; i < rings_.size() && best_ < bound_; ++i) {
      if (++tries_ > kMostTries) return;
      if (!fits(rings_[i])) continue;
      take(rings_[i], 1);
      place(i, placed + 1);
      take(rings_[i], -1);
    }
  }

  std::vector<Ring> rings_;
  std::vector<std::vector<int>> free_;
  std::int64_t bound_;
  std::int64_t best_ = 0;
  std::int64_t tries_ = 0;
};

}  // namespace

std::int64_t nvlink_rings(std::span<const std::vector<int>> matrix, std::int64_t gpus) {
  const auto n = static_cast<std::size_t>(gpus);
  if (n < 2) return 0;
  // Two GPUs: a link is a ring, out in one direction and back in the other.
  if (n == 2) return matrix[0][1];
  std::vector<std::vector<int>> free;
  std::int64_t bound = 0;
  for (std::size_t i = 0; i < n; ++i) {
    free.emplace_back(matrix[i].begin(), matrix[i].begin() + static_cast<std::ptrdiff_t>(n));
    std::int64_t degree = 0;
    for (const int links : free.back())
      degree += links;
    bound = i == 0 ? degree / 2 : std::min(bound, degree / 2);
  }
  if (n > kMostSearched) return 2 * bound;
  std::vector<Ring> rings = all_rings(free, n);
  // Every ring over full-duplex links can run both ways.
  return 2 * Packing(std::move(rings), std::move(free), bound).best();
}

namespace {

/// Finds one ring after the other, in one direction each; a GPU without a link to the next one is
/// reached through a third.
class TransitRings {
 public:
  TransitRings(std::span<const std::vector<int>> links, std::size_t n) : n_(n) {
    for (std::size_t i = 0; i < n; ++i)
      free_.emplace_back(links[i].begin(), links[i].begin() + static_cast<std::ptrdiff_t>(n));
  }
  std::int64_t count() {
    std::int64_t rings = 0;
    for (; extend(0, std::vector<bool>(n_, false), 1); ++rings) {
    }
    return rings;
  }

 private:
  /// Goes on from the last of `placed` GPUs; keeps the links of the ring that it closes.
  bool extend(std::size_t last, std::vector<bool> visited, std::size_t placed) {
    if (++tries_ > kMostTransitTries) return false;
    visited[last] = true;
    for (std::size_t next = 0; next < n_; ++next) {
      if (placed == n_ ? next != 0 : visited[next]) continue;
      for (std::size_t through = 0; through < n_; ++through) {
        // The GPU itself stands for the direct link.
        const std::size_t first = through == last ? next : through;
        if (!take(last, first)) continue;
        if (first == next || take(first, next)) {
          if (placed == n_ || extend(next, visited, placed + 1)) return true;
          if (first != next) ++free_[first][next];
        }
        ++free_[last][first];
      }
    }
    return false;
  }
  bool take(std::size_t from, std::size_t to) {
    if (from == to || free_[from][to] == 0) return false;
    --free_[from][to];
    return true;
  }

  std::size_t n_;
  std::vector<std::vector<int>> free_;  ///< links that no ring uses in this direction
  std::int64_t tries_ = 0;
};

constexpr double kGiga = 1e9;

/// GB/s of one channel that NCCL tries inside a node and between nodes, on Hopper and on Blackwell.
constexpr double kHopperInside[] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr double kHopperInside2_19[] = {60, 50, 40, 30, 24, 20, 15, 12, 6, 3};
constexpr double kHopperInside2_18[] = {60, 40, 30, 24, 20, 15, 12, 6, 3};
constexpr double kHopperBetween[] = {48, 45, 42, 40, 30, 24, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2};
constexpr double kBlackwellInside[] = {90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18};
constexpr double kBlackwellBetween[] = {96, 48,   45.1, 42, 40, 30, 24,  22,
                                        20, 17.5, 15,   12, 6,  3,  2.4, 1.2};

/// What a search may try; Blackwell has its own list from 2.25 on.
std::span<const double> speeds(const NcclGraph& graph, int release, bool inside) {
  if (graph.compute_capability >= 100 && release >= 2025000)
    return inside ? std::span<const double>(kBlackwellInside) : kBlackwellBetween;
  if (!inside) return kHopperBetween;
  if (release >= 2022000) return kHopperInside;
  return release >= 2019000 ? std::span<const double>(kHopperInside2_19) : kHopperInside2_18;
}

/// GB/s of a direction of one NVLink, as NCCL counts it.
double counted_link_gbps(std::int64_t compute_capability, int release) {
  if (compute_capability >= 100 && release >= 2025000) return release >= 2028000 ? 40.1 : 40;
  if (compute_capability >= 90) return release >= 2022000 ? 20.6 : 20;
  return 20;
}

/// The most rings of a search: half of MAXCHANNELS, as each becomes two channels (src/init.cc;
/// src/include/device.h of v2.24.3-1 and v2.27.3-1).
double most_rings(int release) {
  return release >= 2027000 ? 32 : 16;
}

/// Rings over an NVSwitch from Hopper on: as many as possible at one speed of the list; fast or few
/// ones are halved.
void take_switch_rings(NcclGraph& graph, std::span<const double> tried, int release) {
  const double most = most_rings(release);
  double best = 0;
  for (const double speed : tried) {
    const double rings = std::min(most, std::floor(graph.switch_gbps / speed));
    if (rings * speed <= best) continue;
    best = rings * speed;
    const bool halved = 2 * rings <= most && (speed >= 50 || (speed >= 25 && rings <= 4));
    graph.channels = static_cast<std::int64_t>(rings) * (halved ? 2 : 1);
    graph.channel_gbps = halved ? speed / 2 : speed;
  }
}

/// The most GPUs that NVLS has a channel for.
constexpr std::int64_t kMostNvlsChannels = 32;

/// NVLS: a channel per GPU, over which it sends once, and twice over its own. From 2.19 on a second
/// pass raises the speed between nodes, which on one node no adapter limits, up to the first that
/// is twice as fast or more.
void take_nvls(NcclGraph& graph, std::int64_t gpus, std::span<const double> tried, double most,
               int release) {
  const std::int64_t channels = std::min(gpus, kMostNvlsChannels);
  for (std::size_t i = 0; i < tried.size(); ++i) {
    const double speed = tried[i];
    if (speed > most || static_cast<double>(channels + 1) * speed > graph.switch_gbps) continue;
    graph.nvls_channels = channels;
    graph.nvls_gbps = static_cast<double>(channels) * speed;
    if (release >= 2019000 && graph.nodes == 1) {
      while (i > 0 && tried[i] < 2 * speed)
        --i;
    }
    graph.nvls_between_gbps = static_cast<double>(channels) * tried[i];
    return;
  }
}

void take_node(NcclGraph& graph, const GpuNode& gpus, std::int64_t used, int release) {
  graph.compute_capability = static_cast<int>(gpus.compute_capability);
  graph.amd = gpus.cpu == GpuNode::Cpu::kAmd;
  graph.power = gpus.cpu == GpuNode::Cpu::kPower;
  graph.nic_near_gpu = gpus.nic_near_gpu;
  double link_gbps = gpus.link_bandwidth.bytes_per_second / kGiga;
  if (release >= 2019000 && gpus.links != GpuNode::Links::kPcie)
    link_gbps = std::min(link_gbps, counted_link_gbps(gpus.compute_capability, release));
  std::int64_t rings = 0;
  if (gpus.links == GpuNode::Links::kNvlink) {
    rings = nvlink_rings(gpus.matrix, used);
    if (rings == 0 && release >= 2008000) rings = transit_rings(gpus.matrix, used);
  } else if (gpus.links == GpuNode::Links::kNvswitch && used > 1) {
    rings = gpus.links_per_gpu;
    graph.switch_gbps = static_cast<double>(rings) * link_gbps;
  }
  // A lone GPU counts as joined by NVLink: nothing slower lies inside its node.
  graph.nvlink = rings > 0 || (used == 1 && gpus.links != GpuNode::Links::kPcie);
  graph.channels = std::max<std::int64_t>(rings, 1);
  graph.channel_gbps = rings > 0 ? link_gbps : gpus.pcie_bandwidth.bytes_per_second / kGiga;
  if (graph.switch_gbps >= kHopperInside[0] && gpus.compute_capability >= 90)
    take_switch_rings(graph, speeds(graph, release, true), release);
}

std::int64_t nics_of(const Cluster& cluster) {
  if (cluster.gpus && cluster.gpus->nics > 0) return cluster.gpus->nics;
  if (!cluster.gpus || !cluster.node) return 1;
  return std::max<std::int64_t>(std::ssize(cluster.node->of_kind(VertexKind::kNic)), 1);
}

}  // namespace

std::int64_t transit_rings(std::span<const std::vector<int>> matrix, std::int64_t gpus) {
  const auto n = static_cast<std::size_t>(gpus);
  return n < 3 || n > kMostSearched ? 0 : TransitRings(matrix, n).count();
}

NcclGraph nccl_graph(const Cluster& cluster, int release) {
  NcclGraph graph{.ranks = cluster.workers(),
                  .nodes = cluster.nodes,
                  .channel_gbps = cluster.intra_node.bandwidth.bytes_per_second / kGiga};
  if (cluster.gpus) take_node(graph, *cluster.gpus, cluster.gpus_per_node, release);
  const bool pcie = cluster.gpus && !graph.nvlink && cluster.gpus_per_node > 1;
  if (pcie && cluster.node && release >= 2019000) {
    if (const auto ring = gpu_ring(*cluster.node, cluster.metric, cluster.gpus_per_node)) {
      graph.channel_gbps = std::min(graph.channel_gbps, ring->bandwidth.bytes_per_second / kGiga);
    }
  }
  const bool hopper = graph.compute_capability >= 90;
  const double slowdown = cluster.gpus ? cluster.inside_slowdown : 1;
  if (cluster.nodes == 1) {
    if (hopper) take_nvls(graph, graph.ranks, speeds(graph, release, true), INFINITY, release);
    for (double* gbps :
         {&graph.channel_gbps, &graph.switch_gbps, &graph.nvls_gbps, &graph.nvls_between_gbps})
      *gbps /= slowdown;
    return graph;
  }
  const double network = cluster.between_nodes().bandwidth.bytes_per_second / kGiga;
  const double inside = static_cast<double>(graph.channels) * graph.channel_gbps / slowdown;
  if (cluster.gpus_per_node > 1) graph.inside_gbps = inside;
  graph.channels = std::min(nics_of(cluster), cluster.gpus_per_node);
  graph.network_us = to_seconds(cluster.between_nodes().latency) * 1e6;
  if (const auto* adapter = dynamic_cast<const TellsLatency*>(cluster.kind.get()))
    graph.told_us = adapter->told_us();
  graph.network_gbps = network * static_cast<double>(graph.channels);
  const auto nics = static_cast<double>(graph.channels);
  graph.channel_gbps = cluster.gpus_per_node > 1 ? std::min(network, inside / nics) : network;
  // Between two nodes the search looks for faster links of trees inside, up to twice the NIC.
  if (cluster.nodes == 2 && cluster.gpus_per_node > 1)
    graph.tree_gbps = std::min(2 * graph.channel_gbps, inside / nics);
  if (hopper && graph.channels == cluster.gpus_per_node)
    take_nvls(graph, cluster.gpus_per_node, speeds(graph, release, false), network, release);
  graph.switch_gbps /= slowdown;
  return graph;
}

}  // namespace steptime
