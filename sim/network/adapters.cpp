#include "sim/network/adapters.h"

#include <algorithm>
#include <set>
#include <vector>

namespace steptime {

std::int64_t adapters_of(const Cluster& cluster) {
  if (cluster.gpus && cluster.gpus->nics > 0) return cluster.gpus->nics;
  if (cluster.node == nullptr) return 1;
  return std::max<std::int64_t>(1, std::ssize(cluster.node->of_kind(VertexKind::kNic)));
}

std::int64_t adapter_of(const Cluster& cluster, std::int64_t gpu) {
  return gpu * adapters_of(cluster) / cluster.gpus_per_node;
}

std::int64_t most_on_an_adapter(const Cluster& cluster, std::int64_t node,
                                const std::function<std::int32_t(std::int32_t rank)>& thing_of) {
  const std::int64_t count = adapters_of(cluster);
  const std::int64_t gpus = cluster.gpus_per_node;
  std::int64_t most = 1;
  std::set<std::int32_t> things;
  for (std::int64_t gpu = 0; gpu < gpus; ++gpu) {
    if (gpu > 0 && gpu * count / gpus != (gpu - 1) * count / gpus) things.clear();
    const std::int32_t thing = thing_of(static_cast<std::int32_t>(node * gpus + gpu));
    if (thing >= 0) things.insert(thing);
    most = std::max(most, std::ssize(things));
  }
  return most;
}

}  // namespace steptime
