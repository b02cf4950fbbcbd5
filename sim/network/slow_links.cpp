#include "sim/network/slow_links.h"

#include "sim/core/random.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

/// A fabric with some slow ports.
class SlowPorts final : public Fabric {
 public:
  SlowPorts(std::unique_ptr<Fabric> plain, std::span<const std::int64_t> slow, std::int64_t used,
            double factor)
      : plain_(std::move(plain)), channels_(plain_->channels()) {
    std::vector<bool> is_slow(channels_.size());
    std::vector<ChannelId> path;
    const auto way = [&](std::int64_t from, std::int64_t to) -> const std::vector<ChannelId>& {
      path.clear();
      plain_->route(from, to, path);
      return path;
    };
    // The first link of a port's ways to its neighbours, and the last one of theirs to it.
    for (const std::int64_t port : slow) {
      for (const std::int64_t neighbour : {(port + 1) % used, (port + used - 1) % used}) {
        is_slow[way(port, neighbour).front()] = true;
        is_slow[way(neighbour, port).back()] = true;
      }
    }
    for (std::size_t c = 0; c < channels_.size(); ++c) {
      if (is_slow[c]) channels_[c].bandwidth.bytes_per_second /= factor;
    }
  }
  std::int64_t ports() const override { return plain_->ports(); }
  std::vector<Channel> channels() const override { return channels_; }
  std::int64_t channel_count() const override { return plain_->channel_count(); }
  void route(std::int64_t from, std::int64_t to, std::vector<ChannelId>& path) const override {
    plain_->route(from, to, path);
  }

 private:
  std::unique_ptr<Fabric> plain_;
  std::vector<Channel> channels_;
};

}  // namespace

Cluster slowed(Cluster cluster, std::span<const std::int64_t> nodes, double factor) {
  if (nodes.empty()) return cluster;
  std::int64_t nics = 1;
  if (cluster.node) nics = std::max(nics, std::ssize(cluster.node->of_kind(VertexKind::kNic)));
  std::vector<std::int64_t> slow;
  for (const std::int64_t node : nodes) {
    for (std::int64_t nic = 0; nic < nics; ++nic)
      slow.push_back(node * nics + nic);
  }
  cluster.fabric = [plain = cluster.fabric, slow, factor](const FabricUse& use) {
    return std::make_unique<SlowPorts>(plain ? plain(use) : switch_fabric(use), slow, use.ports,
                                       factor);
  };
  return cluster;
}

std::vector<std::int64_t> SlowLinks::drawn(std::int64_t count, std::int64_t seed) const {
  const RandomStream stream(seed, Purpose::kSlowLink);
  std::vector<std::int64_t> slow;
  for (std::int64_t node = 0; node < count; ++node) {
    const bool is_named = std::find(nodes.begin(), nodes.end(), node) != nodes.end();
    if (is_named || stream.uniform(static_cast<std::uint32_t>(node), 0) < chance)
      slow.push_back(node);
  }
  return slow;
}

const Bindings<SlowLinks>& slow_link_keys() {
  using S = SlowLinks;
  constexpr double kMostFactor = 1e6;
  static const Bindings<S> keys{
      {&S::factor, "factor", "how many times as long a byte takes on them", kRequired,
       between(1, kMostFactor)},
      {&S::chance, "chance",
       "of a node, that its links to the network are slow; by the seed; a larger chance keeps "
       "those of a smaller one",
       0, between(0, 1)},
      {{.key = "nodes",
        .kind = Kind::kList,
        .help = "numbers of nodes, from 0 on, whose links to the network are slow",
        .need = Need::kDefault,
        .fallback = Json::array()},
       [](const Config& config, S& slow) {
         const Json& nodes = config.raw("nodes");
         const auto refuse = [&](const Json& found) {
           config.fail("nodes", fmt::format("expected a list of whole numbers from 0 on, got {}",
                                            brief(found)));
         };
         if (!nodes.is_array()) refuse(nodes);
         constexpr std::uint64_t kMost = 1e9;
         for (const Json& node : nodes) {
           if (!node.is_number_unsigned() || node.get<std::uint64_t>() > kMost) refuse(node);
           slow.nodes.push_back(node.get<std::int64_t>());
         }
       }}};
  return keys;
}

}  // namespace steptime
