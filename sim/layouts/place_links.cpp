#include "sim/layouts/place_links.h"

#include "sim/layouts/adapters.h"

#include <algorithm>
#include <array>
#include <set>

namespace steptime {

PlaceLinks::Ports PlaceLinks::add_ports() {
  const auto first = static_cast<ChannelId>(channels_);
  channels_ += 2;
  return {{first}, {first + 1}};
}

PlaceLinks::PlaceLinks(const Layout& layout, const Cluster& cluster)
    : between_nodes_(static_cast<std::size_t>(layout.pipeline())) {
  for (std::int32_t place = 0; place < layout.pipeline(); ++place)
    in_node_.push_back(add_ports());
  if (cluster.nodes == 1) return;
  // Adapters that ranks of the same places use stand for one another.
  using Places = std::vector<std::int32_t>;
  std::set<Places> known;
  Places here;
  Places last_here;  // of the adapter before: most are alike
  const auto end_adapter = [&] {
    if (here == last_here) return here.clear();
    last_here = here;
    std::sort(here.begin(), here.end());
    here.erase(std::unique(here.begin(), here.end()), here.end());
    if (!here.empty() && known.insert(here).second) {
      const Ports ports = add_ports();
      for (const std::int32_t place : here) {
        Ports& of = between_nodes_[static_cast<std::size_t>(place)];
        of.out.push_back(ports.out.front());
        of.in.push_back(ports.in.front());
      }
    }
    here.clear();
  };
  const std::vector<std::int32_t> ranks = layout.group(
      0,
      std::array{Dimension::kTensor, Dimension::kContext, Dimension::kData, Dimension::kPipeline});
  const std::int64_t gpus = cluster.gpus_per_node;
  const std::int64_t of_node = adapters(cluster);
  std::vector<std::int64_t> of_gpu;
  for (std::int64_t gpu = 0; gpu < gpus; ++gpu)
    of_gpu.push_back(adapter_of(cluster, gpu));
  std::int64_t last = -1;
  for (const std::int32_t rank : ranks) {
    const std::int64_t adapter =
        rank / gpus * of_node + of_gpu[static_cast<std::size_t>(rank % gpus)];
    if (adapter != last) end_adapter();
    last = adapter;
    here.push_back(layout.coordinate(rank, Dimension::kPipeline));
  }
  end_adapter();
}

}  // namespace steptime
