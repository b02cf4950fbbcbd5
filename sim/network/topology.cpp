#include "sim/network/topology.h"

#include "sim/config/binding.h"
#include "sim/core/error.h"
#include "sim/network/read_links.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/graph/visitors.hpp>
#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::array<std::string_view, 6> kKinds{"gpu",         "host-memory",   "socket",
                                                 "pcie-switch", "nvlink-switch", "nic"};

bool passes_on(VertexKind kind) {
  return kind == VertexKind::kSocket || kind == VertexKind::kPcieSwitch ||
         kind == VertexKind::kNvlinkSwitch;
}

/// How far a route goes; what counts first depends on the metric.
struct Distance {
  double width = std::numeric_limits<double>::infinity();  ///< B/s
  std::int64_t latency = 0;                                ///< ps
  std::int32_t hops = 0;
};
constexpr Distance kUnreached{0, std::numeric_limits<std::int64_t>::max(),
                              std::numeric_limits<std::int32_t>::max()};

struct Edge {
  ChannelId channel = 0;
  Distance length;
};
using Graph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Edge>;

/// Keeps the edges out of the source and out of vertices that pass messages on.
struct Forwards {
  const Graph* graph = nullptr;
  const std::vector<Topology::VertexInfo>* vertices = nullptr;
  std::size_t source = 0;
  bool operator()(const Graph::edge_descriptor& edge) const {
    const std::size_t tail = boost::source(edge, *graph);
    return tail == source || passes_on((*vertices)[tail].kind);
  }
};

}  // namespace

std::string_view name_of(VertexKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
}

Topology::Vertex Topology::add_vertex(std::string name, VertexKind kind) {
  vertices_.push_back({std::move(name), kind});
  return static_cast<Vertex>(vertices_.size() - 1);
}

void Topology::add_link(LinkInfo link) {
  links_.push_back(std::move(link));
}

std::vector<Topology::Vertex> Topology::of_kind(VertexKind kind) const {
  std::vector<Vertex> found;
  for (std::size_t v = 0; v < vertices_.size(); ++v) {
    if (vertices_[v].kind == kind) found.push_back(static_cast<Vertex>(v));
  }
  return found;
}

std::vector<Channel> Topology::channels() const {
  std::vector<Channel> channels;
  for (const LinkInfo& link : links_)
    channels.insert(channels.end(), 2, Channel{link.bandwidth, link.latency});
  return channels;
}

std::vector<Topology::Paths> Topology::routes_from(std::span<const Vertex> sources,
                                                   RouteMetric metric) const {
  Graph graph(vertices_.size());
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const LinkInfo& link = links_[i];
    const Distance length{link.bandwidth.bytes_per_second, link.latency.count(), 1};
    const auto first = static_cast<std::size_t>(link.first);
    const auto second = static_cast<std::size_t>(link.second);
    const auto channel = static_cast<ChannelId>(2 * i);
    boost::add_edge(first, second, Edge{channel, length}, graph);
    boost::add_edge(second, first, Edge{channel + 1, length}, graph);
  }
  const auto nearer = [metric](const Distance& x, const Distance& y) {
    if (metric == RouteMetric::kWidest && x.width != y.width) return x.width > y.width;
    if (x.latency != y.latency) return x.latency < y.latency;
    return x.hops < y.hops;
  };
  const auto extend = [](const Distance& x, const Distance& edge) {
    if (x.hops == kUnreached.hops) return kUnreached;
    return Distance{std::min(x.width, edge.width), x.latency + edge.latency, x.hops + edge.hops};
  };

  std::vector<Paths> routes(sources.size(), Paths(vertices_.size()));
  std::vector<Graph::edge_descriptor> last(vertices_.size());  // of the way to each vertex
  std::vector<Distance> distance(vertices_.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto source = static_cast<std::size_t>(sources[i]);
    const boost::filtered_graph<Graph, Forwards> usable(graph, {&graph, &vertices_, source});
    boost::dijkstra_shortest_paths(
        usable, source,
        boost::distance_map(distance.data())
            .weight_map(boost::get(&Edge::length, graph))
            .distance_compare(nearer)
            .distance_combine(extend)
            .distance_inf(kUnreached)
            .distance_zero(Distance{})
            .visitor(boost::make_dijkstra_visitor(
                boost::record_edge_predecessors(last.data(), boost::on_edge_relaxed()))));
    for (std::size_t v = 0; v < vertices_.size(); ++v) {
      if (distance[v].hops == kUnreached.hops) continue;
      std::vector<ChannelId>& route = routes[i][v];
      for (std::size_t at = v; at != source; at = boost::source(last[at], graph))
        route.push_back(graph[last[at]].channel);
      std::reverse(route.begin(), route.end());
    }
  }
  return routes;
}

Duration Topology::latency(const std::vector<ChannelId>& path) const {
  Duration sum{};
  for (const ChannelId c : path)
    sum += links_[c / 2].latency;
  return sum;
}

Bandwidth Topology::bandwidth(const std::vector<ChannelId>& path) const {
  Bandwidth least{std::numeric_limits<double>::infinity()};
  for (const ChannelId c : path)
    least = std::min(least, links_[c / 2].bandwidth);
  return least;
}

namespace {

const Bindings<Topology::VertexInfo>& vertex_keys() {
  using V = Topology::VertexInfo;
  static const Bindings<V> keys{
      {&V::name, "name", "unique in the node"},
      {&V::kind, "kind", "GPUs are workers in this order; sockets and switches pass messages on",
       kRequired, std::vector<std::string>(kKinds.begin(), kKinds.end())}};
  return keys;
}

}  // namespace

const Params& topology_params() {
  static const Params params{
      {.key = "vertices",
       .kind = Kind::kList,
       .help = "a list of objects such as `{\"name\": \"gpu0\", \"kind\": \"gpu\"}`, of the kinds "
               "`gpu`, `host-memory`, `socket`, `pcie-switch`, `nvlink-switch` and `nic`; the GPUs "
               "are the workers, in this order, the first `gpus_per_node` of them; sockets and "
               "switches pass messages on, the others do not"},
      links_param(),
      routes_param()};
  return params;
}

Topology read_topology(const Config& section) {
  Topology topology;
  std::map<std::string, Topology::Vertex> by_name;
  for (const Config& vertex : section.objects("vertices", vertex_keys().params())) {
    const Topology::VertexInfo info = vertex_keys().read(vertex);
    if (!by_name.emplace(info.name, topology.vertices().size()).second)
      vertex.fail("name", fmt::format("\"{}\" is there twice", info.name));
    topology.add_vertex(info.name, info.kind);
  }
  for (StatedLink& link : read_links(section, by_name)) {
    topology.add_link(
        {link.first, link.second, link.latency, link.bandwidth, link.count, std::move(link.kind)});
  }
  return topology;
}

}  // namespace steptime
