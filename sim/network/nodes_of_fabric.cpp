#include "sim/network/nodes_of_fabric.h"

#include "sim/network/adapters.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace steptime {
namespace {

/// Where the nodes are, and how many adapters each has.
struct Places {
  std::vector<std::int64_t> nodes;
  std::int64_t adapters = 1;
  std::int64_t whole = 1;

  std::int64_t ports() const { return static_cast<std::int64_t>(nodes.size()) * adapters; }
  /// Ports beyond those of nodes are behind those of the whole, too.
  std::int64_t port(std::int64_t own) const {
    if (own >= ports()) return whole * adapters + own - ports();
    return nodes[static_cast<std::size_t>(own / adapters)] * adapters + own % adapters;
  }
  FabricUse use(FabricUse own) const {
    own.ports = whole * adapters + std::max<std::int64_t>(0, own.ports - ports());
    return own;
  }
};

class NodesOfFabric final : public Fabric {
 public:
  NodesOfFabric(std::unique_ptr<Fabric> whole, Places places, std::int64_t ports)
      : whole_(std::move(whole)), places_(std::move(places)), ports_(ports) {}
  std::int64_t ports() const override { return ports_; }
  std::vector<Channel> channels() const override { return whole_->channels(); }
  std::int64_t channel_count() const override { return whole_->channel_count(); }
  void route(std::int64_t from, std::int64_t to, std::vector<ChannelId>& path) const override {
    whole_->route(places_.port(from), places_.port(to), path);
  }

 private:
  std::unique_ptr<Fabric> whole_;
  Places places_;
  std::int64_t ports_;
};

}  // namespace

Cluster at_nodes(Cluster cluster, std::vector<std::int64_t> nodes, std::int64_t whole) {
  if (!cluster.fabric) return cluster;
  const Places places{std::move(nodes), adapters_of(cluster), whole};
  cluster.fabric = [plain = std::move(cluster.fabric), places](const FabricUse& use) {
    return std::make_unique<NodesOfFabric>(plain(places.use(use)), places, use.ports);
  };
  return cluster;
}

}  // namespace steptime
