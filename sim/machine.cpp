#include "sim/machine.h"

#include "sim/error.h"
#include "sim/work.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::int64_t kMostWorkers = 16'000'000;

/// A node of which only the link between two of its GPUs is known: channel g leads out of GPU g,
/// channel `gpus` + g into it.
std::vector<Channel> star(std::int64_t gpus, const Link& link) {
  const LatencyHalves latency(link.latency);
  const auto count = static_cast<std::size_t>(gpus);
  std::vector<Channel> channels(count, {link.bandwidth, latency.out});
  channels.insert(channels.end(), count, {link.bandwidth, latency.in});
  return channels;
}

}  // namespace

Machine::Machine(const Cluster& cluster)
    : nodes_(cluster.nodes), gpus_(cluster.gpus_per_node), fifo_ports_(cluster.fifo_ports) {
  if (nodes_ > kMostWorkers / gpus_) {
    throw InputError(
        fmt::format("{} nodes of {} GPUs are more than the {} workers that message "
                    "fidelity can hold",
                    nodes_, gpus_, kMostWorkers));
  }
  build_node(cluster);
  if (nodes_ > 1) build_fabric(cluster);
}

void Machine::build_node(const Cluster& cluster) {
  const auto gpus = static_cast<std::size_t>(gpus_);
  gpu_to_gpu_.resize(gpus * gpus);
  out_.resize(gpus);
  in_.resize(gpus);
  nic_of_.assign(gpus, 0);
  if (cluster.node == nullptr) {
    if (gpus > 1) node_channels_ = star(gpus_, cluster.intra_node);
    for (std::size_t from = 0; from < gpus; ++from) {
      for (std::size_t to = 0; to < gpus; ++to) {
        if (from != to) {
          gpu_to_gpu_[from * gpus + to] = {static_cast<ChannelId>(from),
                                           static_cast<ChannelId>(gpus + to)};
        }
      }
    }
    in_node_ = cluster.intra_node;
  } else {
    const Topology& node = *cluster.node;
    node_channels_ = node.channels();
    const auto gpu_vertices = node.of_kind(VertexKind::kGpu);
    const auto nic_vertices = node.of_kind(VertexKind::kNic);
    STEPTIME_CHECK(gpu_vertices.size() >= gpus, "a node has fewer GPUs than it should");
    if (nodes_ > 1 && nic_vertices.empty())
      throw InputError("several nodes, but the node has no vertex of kind \"nic\"");
    nics_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(nic_vertices.size()));
    Paths from_nics;
    std::vector<Paths> nic_routes;
    for (const auto nic : nic_vertices)
      nic_routes.push_back(node.routes_from(nic, cluster.metric));
    for (std::size_t g = 0; g < gpus; ++g) {
      const Paths routes = node.routes_from(gpu_vertices[g], cluster.metric);
      for (std::size_t to = 0; to < gpus; ++to) {
        const auto vertex = static_cast<std::size_t>(gpu_vertices[to]);
        if (to != g && routes[vertex].empty()) {
          throw InputError(
              fmt::format("no route from \"{}\" to \"{}\"",
                          node.vertices()[static_cast<std::size_t>(gpu_vertices[g])].name,
                          node.vertices()[vertex].name));
        }
        gpu_to_gpu_[g * gpus + to] = routes[vertex];
      }
      if (nodes_ == 1) continue;
      // The nearest NIC; equally near ones are dealt out in turn.
      std::vector<std::size_t> nearest;
      for (std::size_t n = 0; n < nic_vertices.size(); ++n) {
        const auto& route = routes[static_cast<std::size_t>(nic_vertices[n])];
        if (route.empty()) continue;
        if (!nearest.empty()) {
          const auto& best = routes[static_cast<std::size_t>(nic_vertices[nearest[0]])];
          const auto rank = [&](const auto& path) {
            return std::pair(path.size(), node.latency(path));
          };
          if (rank(route) > rank(best)) continue;
          if (rank(route) < rank(best)) nearest.clear();
        }
        nearest.push_back(n);
      }
      if (nearest.empty()) {
        throw InputError(
            fmt::format("no route from \"{}\" to a NIC",
                        node.vertices()[static_cast<std::size_t>(gpu_vertices[g])].name));
      }
      const std::size_t nic = nearest[g % nearest.size()];
      nic_of_[g] = static_cast<std::int64_t>(nic);
      out_[g] = routes[static_cast<std::size_t>(nic_vertices[nic])];
      in_[g] = nic_routes[nic][static_cast<std::size_t>(gpu_vertices[g])];
    }
  }
}

void Machine::build_fabric(const Cluster& cluster) {
  const FabricUse use{nodes_ * nics_, cluster.network.latency, cluster.network.bandwidth};
  fabric_ = cluster.fabric ? cluster.fabric(use) : switch_fabric(use);
  fabric_first_ = static_cast<ChannelId>(nodes_ * static_cast<std::int64_t>(node_channels_.size()));
  if (cluster.node == nullptr && !cluster.fabric) between_nodes_ = cluster.network;
}

std::int64_t Machine::channel_count() const {
  return nodes_ * static_cast<std::int64_t>(node_channels_.size()) +
         (fabric_ ? fabric_->channel_count() : 0);
}

std::vector<Channel> Machine::channels() const {
  check_links(static_cast<double>(channel_count()));
  std::vector<Channel> channels;
  channels.reserve(static_cast<std::size_t>(channel_count()));
  for (std::int64_t n = 0; n < nodes_; ++n)
    channels.insert(channels.end(), node_channels_.begin(), node_channels_.end());
  if (fabric_) {
    for (Channel channel : fabric_->channels()) {
      channel.fifo = fifo_ports_;
      channels.push_back(channel);
    }
  }
  for (const auto& [channel, bandwidth] : changed_)
    channels[channel].bandwidth = bandwidth;
  return channels;
}

void Machine::route(Endpoint from, Endpoint to, std::vector<ChannelId>& path) const {
  if (from == to) return;
  if (gpus_ == 1 && node_channels_.empty()) {  // the endpoints are the fabric's ports
    fabric_->route(from, to, path);
    return;
  }
  const std::int64_t node_from = from / gpus_;
  const std::int64_t node_to = to / gpus_;
  const std::int64_t gpu_from = from % gpus_;
  const std::int64_t gpu_to = to % gpus_;
  const auto in_a_node = static_cast<std::int64_t>(node_channels_.size());
  const auto add = [&](std::int64_t node, const std::vector<ChannelId>& part) {
    for (const ChannelId c : part)
      path.push_back(static_cast<ChannelId>(node * in_a_node + c));
  };
  if (node_from == node_to) return add(node_from, inside(gpu_from, gpu_to));
  add(node_from, out_[static_cast<std::size_t>(gpu_from)]);
  const std::size_t begin = path.size();
  fabric_->route(node_from * nics_ + nic_of_[static_cast<std::size_t>(gpu_from)],
                 node_to * nics_ + nic_of_[static_cast<std::size_t>(gpu_to)], path);
  for (std::size_t i = begin; i < path.size(); ++i)
    path[i] += fabric_first_;
  add(node_to, in_[static_cast<std::size_t>(gpu_to)]);
}

std::optional<Link> Machine::uniform(Round::Where where) const {
  if (where == Round::Where::kInNode) return in_node_;
  if (where == Round::Where::kBetweenNodes) return between_nodes_;
  if (nodes_ == 1) return in_node_;
  return gpus_ == 1 ? between_nodes_ : std::nullopt;
}

void Machine::set_bandwidth(ChannelId channel, Bandwidth bandwidth) {
  changed_[channel] = bandwidth;
  in_node_.reset();
  between_nodes_.reset();
}

}  // namespace steptime
