#include "sim/training/roads.h"

#include "sim/collective/message_time.h"
#include "sim/network/kernel_links.h"
#include "sim/network/machine.h"
#include "sim/network/network.h"
#include "sim/servers/connected_routes.h"
#include "sim/servers/copy_threads.h"
#include "sim/servers/machine_with_servers.h"

#include <deque>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace steptime {
namespace {

class ClosedRoads final : public Roads {
 public:
  ClosedRoads(World& world, const TrainingPlan& plan)
      : Roads(world, plan),
        ports_(world.engine, plan.cluster, plan.cluster.nodes + more_nodes(),
               plan.aggregation.servers.workers_per_host_link),
        shares_(plan.members() > 1 &&
                (plan.transport->streams > 1 || plan.aggregation.spread != nullptr)) {
    if (!shares_) return;
    routes_.emplace(2 * plan.aggregation.clients);  // inside each client, and between its nodes
    network_ = &world.connect(*routes_, {});
    for (std::int64_t c = 0; c < plan.aggregation.clients; ++c) {
      const auto channel = static_cast<ChannelId>(2 * c);
      GroupLinks& links = links_.emplace_back();
      links.in_node = {{channel}};
      links.between_nodes = {{channel + 1}};
      if (last_servers().count == 0) continue;
      const std::int64_t first = c * plan.members();
      links.taken_between_nodes =
          &taken_.emplace_back(ports_, Way::kNetwork, first, plan.members());
      if (more_nodes() == 0)
        links.taken_in_node = &taken_.emplace_back(ports_, Way::kHost, first, plan.members());
    }
  }

  Network& in_nodes() override {
    nodes_.emplace(plan_.cluster, Guests{.hosts = true});
    network_ = &world_.connect(*nodes_, plan_.cluster.messages);
    return *network_;
  }
  std::vector<LinkUse> links(double seconds, double steps) const override {
    if (!nodes_) return {};
    return link_uses(plan_.cluster, *nodes_, *network_, {seconds, steps, true});
  }

  std::unique_ptr<Medium> medium(std::int32_t client, const Collective& collective) override {
    if (plan_.members() == 1 && !plan_.workers_meet()) return std::make_unique<NoMedium>(world_);
    if (!shares_)
      return std::make_unique<AloneMedium>(world_, collective, plan_.inside_time,
                                           plan_.inside_parts);
    return std::make_unique<FlowMedium>(world_, *network_, collective,
                                        links_[static_cast<std::size_t>(client)]);
  }

 private:
  std::unique_ptr<PieceLine> line(PortEnds ends, const Pieces& pieces, bool) override {
    return std::make_unique<PortLine>(world_, ports_, std::move(ends), pieces);
  }
  std::unique_ptr<Wire> bare_wire(PortEnds ends) override {
    return std::make_unique<PortWire>(world_, ports_, std::move(ends), plan_.pieces);
  }

  NodePorts ports_;
  bool shares_;
  std::optional<TimedLinks> routes_;
  std::optional<Machine> nodes_;  ///< only where messages travel inside them
  Network* network_ = nullptr;    ///< null: nothing shares a link
  std::deque<GroupLinks> links_;  ///< one for every client
  std::deque<NodePorts::Taken> taken_;
};

/// The clients of the last servers: the first workers of MPI clients, or the hosts of nodes.
ConnectedRoutes::Clients connected(const TrainingPlan& plan) {
  if (plan.aggregation.beyond)
    return {.first = host_end(plan.cluster, plan.aggregation, 0), .count = plan.cluster.nodes};
  return {.count = plan.aggregation.clients, .stride = plan.members()};
}

class MessageRoads final : public Roads {
 public:
  MessageRoads(World& world, const TrainingPlan& plan)
      : Roads(world, plan),
        machine_(machine_with_servers(plan.cluster, plan.aggregation)),
        connections_(machine_, connected(plan), server_end(plan.cluster, plan.aggregation, 0)),
        network_(world.connect(connections_, plan.cluster.messages)),
        links_(network_, machine_, plan.cluster.messages.eager_overhead),
        copy_threads_(plan.cluster.workers(), plan.aggregation.servers.copies.threads),
        kernel_links_(network_, machine_, plan.cluster.intra_node_beside_kernels) {
    if (plan.members() == 1) return;
    expect_messages(*plan.aggregation.inside, "/strategy/aggregation/collective: fidelity");
    if (plan.aggregation.spread)
      expect_messages(*plan.aggregation.spread, "/strategy/aggregation/spread: fidelity");
  }

  Network& in_nodes() override { return network_; }

  std::unique_ptr<Medium> medium(std::int32_t client, const Collective& collective) override {
    if (plan_.members() == 1 && !plan_.workers_meet()) return std::make_unique<NoMedium>(world_);
    std::vector<Endpoint> placement(static_cast<std::size_t>(plan_.members()));
    std::iota(placement.begin(), placement.end(), static_cast<Endpoint>(client * plan_.members()));
    return std::make_unique<MessageMedium>(world_, network_, collective, plan_.cluster.reduction,
                                           std::move(placement));
  }

  void set_kernels(std::int64_t worker, bool run) override {
    kernel_links_.set(static_cast<Endpoint>(worker), run);
  }

  std::vector<LinkUse> links(double seconds, double steps) const override {
    return link_uses(plan_.cluster, machine_, network_,
                     {seconds, steps, has_hosts(plan_.aggregation)});
  }

 private:
  std::unique_ptr<PieceLine> line(PortEnds ends, const Pieces& pieces, bool in_node) override {
    auto line = std::make_unique<MessageLine>(
        world_, links_, MessageLine::Ends{endpoints(ends.clients), endpoints(ends.servers)},
        pieces);
    if (in_node) {
      line->set_copy_threads(copy_threads_, [this](const SentPiece& sent) {
        return rank(sent, sent.of->client == plan_.cluster.gpus_per_node);
      });
    }
    return line;
  }
  std::unique_ptr<Wire> bare_wire(PortEnds ends) override {
    return std::make_unique<PieceWire>(world_, line(std::move(ends), plan_.pieces, false),
                                       PieceWire::Ends{}, plan_.pieces);
  }
  std::vector<Endpoint> endpoints(const std::vector<PortEnd>& ends) const {
    std::vector<Endpoint> all;
    for (const PortEnd& end : ends) {
      const bool is_gpu = end.worker != PortEnd::kHost;
      all.push_back(is_gpu ? end.worker : host_end(plan_.cluster, plan_.aggregation, end.node));
    }
    return all;
  }
  /// Which of the messages that wait for a GPU's threads goes first, the lowest. MXNet copies a sum
  /// to the host with priority 0: that of keys is their number, from 0 on, or its negative.
  std::int64_t rank(const SentPiece& sent, bool with_host) const {
    const bool is_sum_to_host = with_host && !sent.is_push;
    const std::int64_t bucket =
        is_sum_to_host ? std::numeric_limits<std::int64_t>::max() : sent.of->bucket;
    return plan_.aggregation.servers.copies.priority() * bucket;
  }

  Machine machine_;
  ConnectedRoutes connections_;
  Network& network_;
  MessageLinks links_;
  CopyThreads copy_threads_;  ///< for the GPUs; only where nodes add up
  KernelLinks kernel_links_;
};

}  // namespace

std::unique_ptr<ChannelEnds> Roads::channel() {
  const Aggregation& aggregation = plan_.aggregation;
  ConnectionEnds ends{.servers = last_servers().count};
  (aggregation.beyond ? ends.hosts : ends.clients) =
      aggregation.beyond ? plan_.cluster.nodes : aggregation.clients;
  return plan_.transport->channel->open(world_.engine, ends);
}

std::vector<PortEnd> Roads::server_ends() const {
  std::vector<PortEnd> ends;
  for (std::int64_t server = 0; server < last_servers().count; ++server) {
    const std::int64_t node = last_servers().placement->node(server, plan_.cluster.nodes);
    ends.push_back({static_cast<std::int32_t>(node), PortEnd::kHost});
  }
  return ends;
}

std::unique_ptr<Wire> Roads::wire() {
  PortEnds ends{.servers = server_ends(), .all_between_nodes = more_nodes() > 0};
  for (std::int64_t client = 0; client < plan_.aggregation.clients; ++client) {
    const std::int64_t rank_0 = client * plan_.members();
    ends.clients.push_back({static_cast<std::int32_t>(rank_0 / plan_.cluster.gpus_per_node),
                            static_cast<std::int32_t>(rank_0)});
  }
  auto channel = this->channel();
  if (channel == nullptr) return bare_wire(std::move(ends));
  PieceWire::Ends channels;
  channels.push_back(std::move(channel));
  return std::make_unique<PieceWire>(world_, line(std::move(ends), plan_.pieces, false),
                                     std::move(channels), plan_.pieces);
}

std::unique_ptr<PieceLine> Roads::line_in_node(std::int32_t node) {
  const auto gpus = static_cast<std::int32_t>(plan_.cluster.gpus_per_node);
  const PortEnd host{node, PortEnd::kHost};
  PortEnds ends;
  for (std::int32_t gpu = 0; gpu < gpus; ++gpu)
    ends.clients.push_back({node, node * gpus + gpu});
  ends.clients.push_back(host);
  for (std::int32_t place = 0; place < plan_.aggregation.servers.count; ++place) {
    const auto gpu = plan_.aggregation.servers.placement->gpu(place, gpus);
    ends.servers.push_back(gpu ? PortEnd{node, node * gpus + *gpu} : host);
  }
  return line(std::move(ends), plan_.pieces, true);
}

std::unique_ptr<PieceLine> Roads::line_beyond() {
  PortEnds ends{.servers = server_ends()};
  for (std::int32_t node = 0; node < plan_.cluster.nodes; ++node)
    ends.clients.push_back({node, PortEnd::kHost});
  return line(std::move(ends), plan_.pieces_beyond, false);
}

std::unique_ptr<Roads> closed_roads(World& world, const TrainingPlan& plan) {
  return std::make_unique<ClosedRoads>(world, plan);
}

std::unique_ptr<Roads> message_roads(World& world, const TrainingPlan& plan) {
  return std::make_unique<MessageRoads>(world, plan);
}

}  // namespace steptime
