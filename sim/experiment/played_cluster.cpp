#include "sim/experiment/played_cluster.h"

#include "sim/core/error.h"

#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace steptime {

void check_slow_links(const Experiment& e) {
  if (!e.run->slow_links) return;
  const auto fail = [&](std::string_view what) {
    throw InputError(fmt::format("{}: /run/slow_links{}", e.file, what));
  };
  if (e.run->fidelity != Fidelity::kMessage)
    fail(": closed forms know no link by itself; expected \"message\" under /run/fidelity");
  if (e.cluster->nodes == 1) fail(": is about links between nodes; expected several nodes");
  for (const std::int64_t node : e.run->slow_links->nodes) {
    if (node >= e.cluster->nodes)
      fail(fmt::format("/nodes: expected 0 to {}, got {}", e.cluster->nodes - 1, node));
  }
}

std::shared_ptr<const Cluster> played_cluster(const Experiment& e) {
  if (!e.run->slow_links) return e.cluster;
  const std::vector<std::int64_t> slow = e.run->slow_links->drawn(e.cluster->nodes, e.run->seed);
  return std::make_shared<Cluster>(slowed(*e.cluster, slow, e.run->slow_links->factor));
}

}  // namespace steptime
