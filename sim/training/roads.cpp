// Closed forms and ports, or messages: what a training run's collectives, pushes and pulls go
// through.
#include "sim/collective/message_time.h"
#include "sim/servers/connected_routes.h"
#include "sim/servers/message_carrier.h"
#include "sim/training/fleet.h"

#include <numeric>
#include <utility>

namespace steptime {
namespace {

using Placement = ServerGroup::Placement;

std::unique_ptr<ChannelEnds> open_channel(World& world, const TrainingPlan& plan) {
  return plan.transport->channel->open(world.engine, {.clients = plan.aggregation.clients,
                                                      .servers = plan.aggregation.servers.count});
}

/// Links inside each client, and between its nodes, that only its own collectives use: their
/// bandwidth is no matter, as work on them is told by its time.
class ClientLinks final : public Routes {
 public:
  explicit ClientLinks(std::int64_t clients) : clients_(clients) {}
  std::vector<Channel> channels() const override {
    return std::vector<Channel>(static_cast<std::size_t>(2 * clients_), {{1e9}, {}});
  }
  Endpoint endpoints() const override { return static_cast<Endpoint>(2 * clients_); }
  void route(Endpoint, Endpoint, std::vector<ChannelId>&) const override {}

 private:
  std::int64_t clients_;
};

class ClosedRoads final : public Roads {
 public:
  ClosedRoads(World& world, const TrainingPlan& plan)
      : world_(world),
        plan_(plan),
        ports_(world.engine, plan.cluster, plan.cluster.nodes + (own_nodes() ? servers() : 0),
               plan.aggregation.servers.workers_per_host_link),
        shares_(plan.members() > 1 &&
                (plan.transport->streams > 1 || plan.aggregation.spread != nullptr)) {
    if (!shares_) return;
    routes_.emplace(plan.aggregation.clients);
    network_.emplace(world.engine, *routes_);
    for (std::int64_t c = 0; c < plan.aggregation.clients; ++c) {
      const auto channel = static_cast<ChannelId>(2 * c);
      GroupLinks& links = links_.emplace_back();
      links.in_node = {{channel}};
      links.between_nodes = {{channel + 1}};
      if (servers() == 0) continue;
      const std::int64_t first = c * plan.members();
      links.taken_between_nodes =
          &taken_.emplace_back(ports_, Way::kNetwork, first, plan.members());
      if (!own_nodes())
        links.taken_in_node = &taken_.emplace_back(ports_, Way::kHost, first, plan.members());
    }
  }

  std::unique_ptr<Medium> medium(std::int32_t client, const Collective& collective) override {
    if (plan_.members() == 1 && !plan_.workers_meet()) return std::make_unique<NoMedium>(world_);
    if (!shares_)
      return std::make_unique<AloneMedium>(world_, collective, plan_.inside_time,
                                           plan_.inside_parts);
    return std::make_unique<FlowMedium>(world_, *network_, collective,
                                        links_[static_cast<std::size_t>(client)]);
  }

  std::unique_ptr<Wire> wire() override {
    PortEnds ends;
    ends.all_between_nodes = own_nodes();
    for (std::int64_t client = 0; client < plan_.aggregation.clients; ++client) {
      const std::int64_t rank_0 = client * plan_.members();
      ends.clients.push_back({static_cast<std::int32_t>(rank_0 / plan_.cluster.gpus_per_node),
                              static_cast<std::int32_t>(rank_0)});
    }
    const auto nodes = static_cast<std::int32_t>(plan_.cluster.nodes);
    for (std::int32_t server = 0; server < servers(); ++server)
      ends.servers.push_back({own_nodes() ? nodes + server : server % nodes, PortEnd::kHost});
    auto channel = open_channel(world_, plan_);
    if (channel == nullptr)
      return std::make_unique<PortWire>(world_, ports_, std::move(ends), plan_.pieces);
    return std::make_unique<PieceWire>(
        world_, std::make_unique<PortLine>(world_, ports_, std::move(ends), plan_.pieces),
        std::move(channel), plan_.pieces);
  }

 private:
  std::int64_t servers() const { return plan_.aggregation.servers.count; }
  bool own_nodes() const { return plan_.aggregation.servers.placement == Placement::kOwnNodes; }

  World& world_;
  const TrainingPlan& plan_;
  NodePorts ports_;
  bool shares_;
  std::optional<ClientLinks> routes_;
  std::optional<Network> network_;
  std::deque<GroupLinks> links_;  ///< of every client
  std::deque<NodePorts::Taken> taken_;
};

class MessageRoads final : public Roads {
 public:
  MessageRoads(World& world, const TrainingPlan& plan)
      : world_(world),
        plan_(plan),
        machine_(machine_with_servers(plan.cluster, plan.aggregation)),
        connections_(machine_, {.count = plan.aggregation.clients, .stride = plan.members()},
                     static_cast<Endpoint>(plan.cluster.workers())),
        network_(world.engine, connections_, plan.cluster.messages) {
    if (plan.members() == 1) return;
    expect_messages(*plan.aggregation.inside, "/strategy/aggregation/collective: fidelity");
    if (plan.aggregation.spread)
      expect_messages(*plan.aggregation.spread, "/strategy/aggregation/spread: fidelity");
  }

  std::unique_ptr<Medium> medium(std::int32_t client, const Collective& collective) override {
    if (plan_.members() == 1 && !plan_.workers_meet()) return std::make_unique<NoMedium>(world_);
    std::vector<Endpoint> placement(static_cast<std::size_t>(plan_.members()));
    std::iota(placement.begin(), placement.end(), static_cast<Endpoint>(client * plan_.members()));
    return std::make_unique<MessageMedium>(world_, network_, collective, plan_.cluster.reduction,
                                           std::move(placement));
  }

  std::unique_ptr<Wire> wire() override {
    const ServerGroup& servers = plan_.aggregation.servers;
    const std::int64_t workers = plan_.cluster.workers();
    MessageLine::Ends ends;
    for (std::int64_t client = 0; client < plan_.aggregation.clients; ++client)
      ends.clients.push_back(static_cast<Endpoint>(client * plan_.members()));
    for (std::int64_t server = 0; server < servers.count; ++server) {
      const bool own = servers.placement == Placement::kOwnNodes;
      ends.servers.push_back(
          static_cast<Endpoint>(workers + (own ? server : server % plan_.cluster.nodes)));
    }
    return std::make_unique<PieceWire>(
        world_,
        std::make_unique<MessageLine>(world_, network_, machine_, std::move(ends), plan_.pieces,
                                      plan_.cluster.messages.eager_overhead),
        open_channel(world_, plan_), plan_.pieces);
  }

  std::vector<LinkUse> links(double seconds, double steps) const override {
    const bool hosts = plan_.aggregation.servers.count > 0 &&
                       plan_.aggregation.servers.placement == Placement::kWithWorkers;
    return link_uses(plan_.cluster, machine_, network_, {seconds, steps, hosts});
  }

 private:
  World& world_;
  const TrainingPlan& plan_;
  Machine machine_;
  ConnectedRoutes connections_;
  Network network_;
};

}  // namespace

std::unique_ptr<Roads> make_roads(World& world, const TrainingPlan& plan) {
  if (plan.plays_messages) return std::make_unique<MessageRoads>(world, plan);
  return std::make_unique<ClosedRoads>(world, plan);
}

}  // namespace steptime
