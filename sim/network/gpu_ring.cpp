#include "sim/network/gpu_ring.h"

#include "sim/core/units.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace steptime {

std::optional<Link> gpu_ring(const Topology& node, RouteMetric metric, std::int64_t used) {
  std::vector<Topology::Vertex> gpus = node.of_kind(VertexKind::kGpu);
  gpus.resize(std::min(gpus.size(), static_cast<std::size_t>(used)));
  const std::vector<Topology::Paths> paths = node.routes_from(gpus, metric);
  Link worst{.bandwidth = {std::numeric_limits<double>::infinity()}};
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto& path = paths[i][static_cast<std::size_t>(gpus[(i + 1) % gpus.size()])];
    if (path.empty()) return std::nullopt;
    Duration latency{};
    for (const ChannelId c : path)
      latency = checked_add(latency, node.links()[c / 2].latency);
    worst.latency = std::max(worst.latency, latency);
    worst.bandwidth = std::min(worst.bandwidth, node.bandwidth(path));
  }
  return worst;
}

}  // namespace steptime
