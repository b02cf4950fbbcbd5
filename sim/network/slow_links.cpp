#include "sim/network/slow_links.h"

#include "sim/config/key_use.h"
#include "sim/core/random.h"
#include "sim/network/adapters.h"
#include "sim/network/node_numbers.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

namespace steptime {
namespace {

/// A fabric with some slow ports.
class SlowPorts final : public Fabric {
 public:
  /// By port, how many times as long a byte takes; `used`: ports.
  SlowPorts(std::unique_ptr<Fabric> plain, const std::map<std::int64_t, double>& slow,
            std::int64_t used)
      : plain_(std::move(plain)), channels_(plain_->channels()) {
    std::vector<double> factors(channels_.size(), 1);
    std::vector<ChannelId> path;
    const auto way = [&](std::int64_t from, std::int64_t to) -> const std::vector<ChannelId>& {
      path.clear();
      plain_->route(from, to, path);
      return path;
    };
    // The first link of a port's ways to its neighbours, and the last one of theirs to it.
    for (const auto& [port, factor] : slow) {
      for (const std::int64_t neighbour : {(port + 1) % used, (port + used - 1) % used}) {
        for (const ChannelId c : {way(port, neighbour).front(), way(neighbour, port).back()})
          factors[c] = std::max(factors[c], factor);
      }
    }
    for (std::size_t c = 0; c < channels_.size(); ++c)
      channels_[c].bandwidth.bytes_per_second /= factors[c];
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

Cluster slowed(Cluster cluster, std::span<const SlowNode> nodes) {
  if (nodes.empty()) return cluster;
  const std::int64_t nics = adapters_of(cluster);
  std::map<std::int64_t, double> slow;
  for (const SlowNode& node : nodes) {
    for (std::int64_t nic = node.adapter.value_or(0); nic < node.adapter.value_or(nics - 1) + 1;
         ++nic)
      slow[node.node * nics + nic] = node.factor;
  }
  cluster.fabric = [plain = cluster.fabric, slow](const FabricUse& use) {
    return std::make_unique<SlowPorts>(plain ? plain(use) : switch_fabric(use), slow, use.ports);
  };
  return cluster;
}

std::vector<SlowNode> SlowLinks::drawn(std::int64_t count, std::int64_t seed) const {
  const RandomStream stream(seed, Purpose::kSlowLink);
  std::vector<SlowNode> slow;
  for (std::int64_t node = 0; node < count; ++node) {
    const bool is_named = std::ranges::find(nodes, node) != nodes.end();
    if (is_named || stream.uniform(static_cast<std::uint32_t>(node), 0) < chance)
      slow.push_back({node, {}, factor});
    std::ranges::copy_if(adapters, std::back_inserter(slow),
                         [node](const SlowNode& known) { return known.node == node; });
  }
  return slow;
}

namespace {

const Bindings<SlowNode>& slow_node_keys() {
  using S = SlowNode;
  constexpr double kMostFactor = 1e6;
  static const Bindings<S> keys{
      {&S::node, "node", "from 0 on", kRequired, between(0, 1e9)},
      {&S::adapter, "adapter", "of the node's, from 0 on; default: all of them", nullptr,
       between(0, 1e9)},
      {&S::factor, "factor", "how many times as long a byte takes", kRequired,
       between(1, kMostFactor)}};
  return keys;
}

const bool kUses =
    idle_beside("factor", "nodes", {Json::array()}) && idle_beside("factor", "chance", {0});

}  // namespace

const Bindings<SlowLinks>& slow_link_keys() {
  using S = SlowLinks;
  constexpr double kMostFactor = 1e6;
  static const Bindings<S> keys{
      {&S::factor, "factor",
       "how many times as long a byte takes on them; required with `nodes` and `chance`", 1,
       between(1, kMostFactor)},
      {&S::chance, "chance",
       "of a node, that its links to the network are slow; by the seed; a larger chance keeps "
       "those of a smaller one",
       0, between(0, 1)},
      {{.key = "adapters",
        .kind = Kind::kList,
        .help = "nodes whose links are slow by a factor of their own, or one adapter of theirs: a "
                "list of objects such as `{\"node\": 2, \"adapter\": 0, \"factor\": 4}`, from 0 "
                "on; without `adapter` all of the node",
        .need = Need::kDefault,
        .fallback = Json::array()},
       [](const Config& config, S& slow) {
         for (const Config& node : config.objects("adapters", slow_node_keys().params())) {
           const SlowNode read = slow_node_keys().read(node);
           for (const SlowNode& other : slow.adapters) {
             if (other.node == read.node && other.adapter == read.adapter) {
               node.fail(read.adapter ? "adapter" : "node",
                         "is there twice; expected each adapter once");
             }
           }
           slow.adapters.push_back(read);
         }
       }},
      {{.key = "nodes",
        .kind = Kind::kList,
        .help = "numbers of nodes, from 0 on, whose links to the network are slow",
        .need = Need::kDefault,
        .fallback = Json::array()},
       [](const Config& config, S& slow) {
         slow.nodes = read_node_numbers(config, "nodes");
         if ((!slow.nodes.empty() || slow.chance > 0) && !config.has("factor"))
           config.fail("factor", "required but missing");
       }}};
  return keys;
}

}  // namespace steptime
