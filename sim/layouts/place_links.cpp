#include "sim/layouts/place_links.h"

#include "sim/network/adapters.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

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
  const std::int64_t gpus = cluster.gpus_per_node;
  std::vector<std::int64_t> of_gpu;
  for (std::int64_t gpu = 0; gpu < gpus; ++gpu)
    of_gpu.push_back(adapter_of(cluster, gpu));
  const std::int64_t stride = layout.rank({0, 0, 0, 1});
  const std::vector<std::int32_t> ranks = layout.group(
      0,
      std::array{Dimension::kTensor, Dimension::kContext, Dimension::kData, Dimension::kPipeline});
  for (auto rank = ranks.begin(); rank != ranks.end();) {
    const std::int64_t node = *rank / gpus;
    std::int64_t last = of_gpu[static_cast<std::size_t>(*rank % gpus)];
    // A node whose ranks are all of one place stands for those up to that with the next place's.
    const std::int64_t next_place = (node * gpus / stride + 1) * stride;
    const std::int64_t next_node = std::max(node + 1, next_place / gpus);
    for (; rank != ranks.end() && *rank / gpus == node; ++rank) {
      const std::int64_t adapter = of_gpu[static_cast<std::size_t>(*rank % gpus)];
      if (adapter != std::exchange(last, adapter)) end_adapter();
      here.push_back(layout.coordinate(*rank, Dimension::kPipeline));
    }
    end_adapter();
    rank = std::lower_bound(rank, ranks.end(), next_node * gpus);
  }
}

}  // namespace steptime
