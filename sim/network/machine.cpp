#include "sim/network/machine.h"

#include "sim/core/error.h"
#include "sim/core/limits.h"
#include "sim/network/adapters.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::int64_t kMostWorkers = 16'000'000;

}  // namespace

Machine::Machine(const Cluster& cluster, Guests guests)
    : nodes_(cluster.nodes),
      gpus_(cluster.gpus_per_node),
      guests_(guests),
      fifo_ports_(cluster.fifo_ports) {
  if (nodes_ > kMostWorkers / gpus_) {
    throw PlacedError(
        fmt::format("/cluster/nodes: {} nodes of {} GPUs are more than the {} workers that message "
                    "fidelity can hold",
                    nodes_, gpus_, kMostWorkers));
  }
  const auto locals = static_cast<std::size_t>(this->locals());
  if (cluster.node) local_to_local_.resize(locals * locals);
  out_.resize(locals);
  in_.resize(locals);
  nic_of_.assign(locals, 0);
  node_channels_ = cluster.node ? build_graph(cluster) : build_star(cluster);
  if (has_fabric()) build_fabric(cluster);
}

/// A node of which only the link between two of its endpoints is known: channel i leads out of
/// endpoint i, channel `locals` + i into it.
std::vector<Channel> Machine::build_star(const Cluster& cluster) {
  in_node_ = cluster.intra_node;
  nics_ = adapters_of(cluster);
  for (std::int64_t gpu = 0; gpu < gpus_; ++gpu)
    nic_of_[static_cast<std::size_t>(gpu)] = adapter_of(cluster, gpu);
  const auto count = static_cast<std::size_t>(locals());
  if (count == 1) return {};
  const LatencyHalves latency(cluster.intra_node.latency);
  std::vector<Channel> channels(count, {cluster.intra_node.bandwidth, latency.out});
  channels.insert(channels.end(), count, {cluster.intra_node.bandwidth, latency.in});
  if (guests_.hosts) {
    const auto links = static_cast<double>(guests_.host_links);
    for (const std::size_t host : {count - 1, 2 * count - 1})
      channels[host].bandwidth.bytes_per_second *= links;
  }
  return channels;
}

std::vector<Channel> Machine::build_graph(const Cluster& cluster) {
  const Topology& node = *cluster.node;
  vertices_ = node.of_kind(VertexKind::kGpu);
  STEPTIME_CHECK(static_cast<std::int64_t>(vertices_.size()) >= gpus_,
                 "a node has fewer GPUs than it should");
  vertices_.resize(static_cast<std::size_t>(gpus_));
  if (guests_.hosts) {
    const auto memories = node.of_kind(VertexKind::kHostMemory);
    if (memories.empty())
      throw PlacedError(
          "/cluster/node: servers on the workers' hosts, but the node has no vertex of kind "
          "\"host-memory\"");
    vertices_.push_back(memories.front());
  }
  const auto nics = node.of_kind(VertexKind::kNic);
  if (has_fabric() && nics.empty())
    throw PlacedError("/cluster/node: several nodes, but the node has no vertex of kind \"nic\"");
  nics_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(nics.size()));
  std::vector<Topology::Vertex> ends = vertices_;
  ends.insert(ends.end(), nics.begin(), nics.end());
  const std::vector<Paths> all = node.routes_from(ends, cluster.metric);
  const auto nic_routes = std::span(all).subspan(vertices_.size());
  for (std::size_t from = 0; from < vertices_.size(); ++from) {
    const Paths& routes = all[from];
    for (std::size_t to = 0; to < vertices_.size(); ++to) {
      const auto vertex = static_cast<std::size_t>(vertices_[to]);
      if (to != from && routes[vertex].empty()) {
        throw PlacedError(
            fmt::format("/cluster/node: no route from \"{}\" to \"{}\"",
                        node.vertices()[static_cast<std::size_t>(vertices_[from])].name,
                        node.vertices()[vertex].name));
      }
      local_to_local_[from * vertices_.size() + to] = routes[vertex];
    }
    if (has_fabric()) find_nic(from, node, routes, nic_routes);
  }
  find_neighbours();
  std::vector<Channel> channels = node.channels();
  for (std::size_t c = 0; cluster.inside_slowdown > 1 && c < channels.size(); ++c) {
    const auto crosses = [c](const std::vector<ChannelId>& links) {
      return std::ranges::binary_search(links, static_cast<ChannelId>(c));
    };
    if (std::ranges::any_of(to_neighbours_, crosses))
      channels[c].bandwidth.bytes_per_second /= cluster.inside_slowdown;
  }
  return channels;
}

void Machine::find_neighbours() {
  to_neighbours_.resize(static_cast<std::size_t>(gpus_));
  for (std::int64_t gpu = 0; gpu < gpus_; ++gpu) {
    std::vector<ChannelId>& links = to_neighbours_[static_cast<std::size_t>(gpu)];
    for (std::int64_t other = 0; other < gpus_; ++other) {
      for (const auto* path : {&inside(gpu, other), &inside(other, gpu)})
        links.insert(links.end(), path->begin(), path->end());
    }
    std::ranges::sort(links);
    links.erase(std::unique(links.begin(), links.end()), links.end());
  }
}

void Machine::to_neighbours(Endpoint worker, std::vector<ChannelId>& channels) const {
  if (gpus_ == 1) return;
  const std::int64_t first = worker / gpus_ * static_cast<std::int64_t>(node_channels_.size());
  const std::int64_t local = worker % gpus_;
  if (local_to_local_.empty()) {
    channels.push_back(static_cast<ChannelId>(first + local));
    channels.push_back(static_cast<ChannelId>(first + locals() + local));
    return;
  }
  for (const ChannelId c : to_neighbours_[static_cast<std::size_t>(local)])
    channels.push_back(static_cast<ChannelId>(first + c));
}

/// The nearest NIC; equally near ones are dealt out in turn.
void Machine::find_nic(std::size_t local, const Topology& node, const Paths& routes,
                       std::span<const Paths> nic_routes) {
  const auto nics = node.of_kind(VertexKind::kNic);
  const auto rank = [&](std::size_t nic) {
    const auto& path = routes[static_cast<std::size_t>(nics[nic])];
    return std::pair(path.size(), node.latency(path));
  };
  std::vector<std::size_t> nearest;
  for (std::size_t n = 0; n < nics.size(); ++n) {
    if (routes[static_cast<std::size_t>(nics[n])].empty()) continue;
    if (!nearest.empty() && rank(n) > rank(nearest[0])) continue;
    if (!nearest.empty() && rank(n) < rank(nearest[0])) nearest.clear();
    nearest.push_back(n);
  }
  if (nearest.empty()) {
    throw PlacedError(
        fmt::format("/cluster/node: no route from \"{}\" to a NIC",
                    node.vertices()[static_cast<std::size_t>(vertices_[local])].name));
  }
  const std::size_t nic = nearest[local % nearest.size()];
  nic_of_[local] = static_cast<std::int64_t>(nic);
  out_[local] = routes[static_cast<std::size_t>(nics[nic])];
  in_[local] = nic_routes[nic][static_cast<std::size_t>(vertices_[local])];
}

void Machine::build_fabric(const Cluster& cluster) {
  const FabricUse use{nodes_ * nics_ + guests_.nodes, cluster.network.latency,
                      cluster.network.bandwidth};
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
  if (gpus_ == 1 && nics_ == 1 && node_channels_.empty()) {  // the endpoints are the fabric's ports
    fabric_->route(from, to, path);
    return;
  }
  const Place sender = place_of(from);
  const Place receiver = place_of(to);
  const auto in_a_node = static_cast<std::int64_t>(node_channels_.size());
  const auto add = [&](std::int64_t node, const std::vector<ChannelId>& part) {
    for (const ChannelId c : part)
      path.push_back(static_cast<ChannelId>(node * in_a_node + c));
  };
  if (sender.node == receiver.node && local_to_local_.empty()) {
    path.push_back(static_cast<ChannelId>(sender.node * in_a_node + sender.local));
    path.push_back(static_cast<ChannelId>(sender.node * in_a_node + locals() + receiver.local));
    return;
  }
  if (sender.node == receiver.node) return add(sender.node, inside(sender.local, receiver.local));
  if (sender.local >= 0) add(sender.node, out_[static_cast<std::size_t>(sender.local)]);
  const std::size_t begin = path.size();
  fabric_->route(port_of(sender), port_of(receiver), path);
  for (std::size_t i = begin; i < path.size(); ++i)
    path[i] += fabric_first_;
  if (receiver.local >= 0) add(receiver.node, in_[static_cast<std::size_t>(receiver.local)]);
}

Machine::Place Machine::place_of(Endpoint endpoint) const {
  if (endpoint < workers()) return {endpoint / gpus_, endpoint % gpus_};
  const std::int64_t guest = endpoint - workers();
  if (!guests_.hosts) return {nodes_ + guest};
  return guest < nodes_ ? Place{guest, gpus_} : Place{guest};
}

std::int64_t Machine::port_of(Place place) const {
  if (place.local < 0) return nodes_ * nics_ + place.node - nodes_;
  return place.node * nics_ + nic_of_[static_cast<std::size_t>(place.local)];
}

std::optional<Link> Machine::uniform(Pairs where) const {
  if (where == Pairs::kInNode) return in_node_;
  if (where == Pairs::kBetweenNodes) return between_nodes_;
  if (nodes_ == 1) return in_node_;
  return gpus_ == 1 ? between_nodes_ : std::nullopt;
}

void Machine::set_bandwidth(ChannelId channel, Bandwidth bandwidth) {
  changed_[channel] = bandwidth;
  in_node_.reset();
  between_nodes_.reset();
}

Link link_over_nics(Cluster cluster) {
  cluster.nodes = 2;
  const Machine pair(cluster);
  std::vector<ChannelId> path;
  pair.route(0, static_cast<Endpoint>(cluster.gpus_per_node), path);
  const std::vector<Channel> channels = pair.channels();
  Link link{{}, cluster.network.bandwidth};
  for (const ChannelId c : path) {
    link.latency = checked_add(link.latency, channels[c].latency);
    link.bandwidth = std::min(link.bandwidth, channels[c].bandwidth);
  }
  return link;
}

Cluster Cluster::beside_kernels() const {
  Cluster slower = *this;
  slower.intra_node.bandwidth.bytes_per_second /= intra_node_beside_kernels;
  slower.inside_slowdown = intra_node_beside_kernels;
  if (gpu_to_gpu) slower.gpu_to_gpu = link_over_nics(slower);
  return slower;
}

}  // namespace steptime
