// Rings over the links of a cluster, as NCCL's search finds them.
//
// Scope: one NIC per node limits everything that leaves it; inside a node, rings over NVLink where
// they close, else one ring over PCIe. NCCL rounds speeds to a list and gives up after a number of
// tries; here rings keep the speed of their links and the search is exhaustive.
// Validation: DGX-1 rings: 6 over 8 Volta GPUs, 4 over a quad
// (tests/netmodels/nccl_graph_test.cpp). Source: NVIDIA/nccl v2.7.8-1 src/graph/search.cc.
#include "netmodels/nccl_graph.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace steptime {
namespace {

using Ring = std::vector<std::size_t>;

/// Beyond this many GPUs rings are counted by degree: the search would not end.
constexpr std::size_t kMostSearched = 9;
/// Steps after which the best packing so far stands.
constexpr std::int64_t kMostTries = 2'000'000;

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

NcclGraph nccl_graph(const Cluster& cluster) {
  constexpr double kGiga = 1e9;
  NcclGraph graph{.ranks = cluster.workers(),
                  .nodes = cluster.nodes,
                  .channel_gbps = cluster.intra_node.bandwidth.bytes_per_second / kGiga};
  if (cluster.gpus) {
    const GpuNode& gpus = *cluster.gpus;
    graph.compute_capability = static_cast<int>(gpus.compute_capability);
    graph.amd = gpus.cpu == GpuNode::Cpu::kAmd;
    graph.power = gpus.cpu == GpuNode::Cpu::kPower;
    graph.nic_near_gpu = gpus.nic_near_gpu;
    std::int64_t rings = 0;
    if (gpus.links == GpuNode::Links::kNvlink) {
      rings = nvlink_rings(gpus.matrix, cluster.gpus_per_node);
    } else if (gpus.links == GpuNode::Links::kNvswitch && cluster.gpus_per_node > 1) {
      rings = gpus.links_per_gpu;
    }
    // A lone GPU counts as joined by NVLink: nothing slower lies inside its node.
    graph.nvlink = rings > 0 || (cluster.gpus_per_node == 1 && gpus.links != GpuNode::Links::kPcie);
    graph.channels = std::max<std::int64_t>(rings, 1);
    graph.channel_gbps =
        (rings > 0 ? gpus.link_bandwidth : gpus.pcie_bandwidth).bytes_per_second / kGiga;
  }
  if (cluster.nodes == 1) return graph;
  const double network = cluster.network.bandwidth.bytes_per_second / kGiga;
  const double inside = static_cast<double>(graph.channels) * graph.channel_gbps;
  graph.channels = 1;
  graph.channel_gbps = cluster.gpus_per_node > 1 ? std::min(network, inside) : network;
  return graph;
}

}  // namespace steptime
