#include "sim/drawing/fabric_drawing.h"

#include "sim/drawing/legend.h"
#include "sim/network/adapters.h"
#include "sim/network/switch_names.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numbers>
#include <tuple>
#include <utility>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/visitors.hpp>
#include <boost/pending/disjoint_sets.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

/// By which Graphviz knows a vertex.
std::string id_of(const FabricGraph& graph, std::int32_t vertex) {
  return vertex < graph.nodes ? fmt::format("node{}", vertex)
                              : fmt::format("switch{}", vertex - graph.nodes);
}

const std::string& name_in(const FabricGraph& graph, std::int32_t vertex) {
  return graph.names[static_cast<std::size_t>(vertex)];
}

/// Where there are many nodes, and each hangs on one switch only: the nodes of each switch, to be
/// written into it. Else empty.
std::map<std::int32_t, std::vector<std::int32_t>> nodes_in_switches(const FabricGraph& graph) {
  constexpr std::int64_t kFew = 32;
  std::map<std::int32_t, std::vector<std::int32_t>> inside;
  if (graph.nodes <= kFew) return inside;
  std::vector<std::int32_t> links(static_cast<std::size_t>(graph.nodes), 0);
  for (const auto& e : graph.edges) {
    if (e.first >= graph.nodes) continue;
    // A node comes before every switch, so that the second end is a node of a ring, or a switch.
    if (e.second < graph.nodes || ++links[static_cast<std::size_t>(e.first)] > 1) return {};
    inside[e.second].push_back(e.first);
  }
  return inside;
}

/// Hops from the nearest node, plus one, of every vertex.
std::vector<int> levels(const FabricGraph& graph) {
  using Links = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
  const auto start = static_cast<std::size_t>(graph.vertices);  // joined to all nodes
  Links links(start + 1);
  for (std::int64_t n = 0; n < graph.nodes; ++n)
    boost::add_edge(start, static_cast<std::size_t>(n), links);
  for (const auto& e : graph.edges)
    boost::add_edge(static_cast<std::size_t>(e.first), static_cast<std::size_t>(e.second), links);
  std::vector<int> level(start + 1);
  boost::breadth_first_search(links, start,
                              boost::visitor(boost::make_bfs_visitor(
                                  boost::record_distances(level.data(), boost::on_tree_edge()))));
  return level;
}

/// Whether switches can stand above the nodes, rank by rank: no links join what is at one height.
bool is_layered(const FabricGraph& graph, const std::vector<int>& level) {
  return std::all_of(graph.edges.begin(), graph.edges.end(), [&](const auto& e) {
    return level[static_cast<std::size_t>(e.first)] != level[static_cast<std::size_t>(e.second)];
  });
}

/// Where the vertices stand: the uppermost side by side, the others below what they hang on; or in
/// rings around each other where a level has links of its own.
std::vector<std::pair<double, double>> places(const FabricGraph& graph) {
  const std::vector<int> level = levels(graph);
  const bool layered = is_layered(graph, level);
  const auto count = static_cast<std::size_t>(graph.vertices);
  const int top = *std::max_element(level.begin(), level.begin() + graph.vertices);
  std::vector<double> along(count);  // its level, from 0 to 1
  std::vector<std::pair<double, double>> at(count);
  std::vector<std::size_t> sizes(static_cast<std::size_t>(top) + 1);
  for (std::size_t v = 0; v < count; ++v)
    ++sizes[static_cast<std::size_t>(level[v])];
  const auto widest = static_cast<double>(*std::max_element(sizes.begin(), sizes.end()));
  double radius = 0;
  for (int l = top; l > 0; --l) {
    std::vector<std::pair<double, std::size_t>> order;  // by the middle of what they hang on
    for (std::size_t v = 0; v < count; ++v) {
      if (level[v] != l) continue;
      double sum = 0;
      double above = 0;
      for (const auto& e : graph.edges) {
        const auto first = static_cast<std::size_t>(e.first);
        const auto second = static_cast<std::size_t>(e.second);
        if (first != v && second != v) continue;
        const std::size_t other = first == v ? second : first;
        if (level[other] <= l) continue;
        sum += along[other];
        ++above;
      }
      order.emplace_back(above > 0 ? sum / above : 0, v);
    }
    std::sort(order.begin(), order.end());
    const auto here = static_cast<double>(order.size());
    radius = std::max(l == top ? 1 : radius + 1, here / (2 * std::numbers::pi));
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::size_t v = order[i].second;
      along[v] = (static_cast<double>(i) + 0.5) / here;
      const double angle = 2 * std::numbers::pi * along[v];
      at[v] = layered ? std::pair(along[v] * widest, static_cast<double>(l))
                      : std::pair(radius * std::sin(angle), radius * std::cos(angle));
    }
  }
  return at;
}

}  // namespace

FabricGraph graph_of(const Cluster& cluster) {
  const std::int64_t nics = adapters_of(cluster);
  const FabricUse use{std::max<std::int64_t>(3, cluster.nodes * nics), cluster.network.latency,
                      cluster.network.bandwidth};
  const auto fabric = cluster.fabric ? cluster.fabric(use) : switch_fabric(use);
  return graph_of(*fabric, cluster.nodes, nics);
}

FabricGraph graph_of(const Fabric& fabric, std::int64_t nodes, std::int64_t ports_per_node) {
  const std::vector<Channel> channels = fabric.channels();
  // Places where links meet: the nodes, and both ends of every channel. A channel of a route begins
  // where the one before it ends.
  const auto places = static_cast<std::size_t>(nodes) + 2 * channels.size();
  const auto begin = [&](ChannelId c) {
    return static_cast<std::size_t>(nodes) + 2 * std::size_t{c};
  };
  const auto end = [&](ChannelId c) { return begin(c) + 1; };
  std::vector<std::size_t> rank(places), parent(places);
  boost::disjoint_sets<std::size_t*, std::size_t*> sets(rank.data(), parent.data());
  for (std::size_t i = 0; i < places; ++i)
    sets.make_set(i);
  std::vector<bool> used(channels.size(), false);
  const std::int64_t ports = nodes * ports_per_node;
  // Of two ports alone one would not see that both of their links meet in one switch.
  const std::int64_t seen = std::min(std::max<std::int64_t>(ports, 3), fabric.ports());
  std::vector<ChannelId> path;
  for (std::int64_t from = 0; from < seen; ++from) {
    for (std::int64_t to = 0; to < seen; ++to) {
      if (from == to) continue;
      path.clear();
      fabric.route(from, to, path);
      for (std::size_t i = 1; i < path.size(); ++i)
        sets.union_set(end(path[i - 1]), begin(path[i]));
      if (from < ports)
        sets.union_set(static_cast<std::size_t>(from / ports_per_node), begin(path.front()));
      if (to < ports)
        sets.union_set(static_cast<std::size_t>(to / ports_per_node), end(path.back()));
      if (from >= ports || to >= ports || from / ports_per_node == to / ports_per_node) continue;
      for (const ChannelId c : path)
        used[c] = true;
    }
  }

  FabricGraph graph{.nodes = nodes, .vertices = nodes};
  std::map<std::size_t, std::int32_t> number;
  for (std::int64_t n = 0; n < nodes; ++n)
    number.emplace(sets.find_set(static_cast<std::size_t>(n)), static_cast<std::int32_t>(n));
  const auto vertex = [&](std::size_t place) {
    const auto [known, is_new] =
        number.emplace(sets.find_set(place), static_cast<std::int32_t>(graph.vertices));
    if (is_new) ++graph.vertices;
    return known->second;
  };
  const auto* named = dynamic_cast<const NamesSwitches*>(&fabric);
  std::map<std::int32_t, std::string> stated;
  // The two directions of a link are one edge; the latency is the longer one.
  using Key = std::tuple<std::int32_t, std::int32_t, double>;
  std::map<Key, std::pair<std::array<std::int64_t, 2>, Duration>> edges;
  for (ChannelId c = 0; c < channels.size(); ++c) {
    if (!used[c]) continue;
    const std::int32_t first = vertex(begin(c));
    const std::int32_t second = vertex(end(c));
    if (named != nullptr) stated.emplace(second, named->switch_behind(c));
    auto& [counts, latency] = edges[{std::min(first, second), std::max(first, second),
                                     channels[c].bandwidth.bytes_per_second}];
    ++counts[first < second ? 0 : 1];
    latency = std::max(latency, channels[c].latency);
  }
  for (const auto& [key, value] : edges) {
    const auto& [first, second, bandwidth] = key;
    const auto& [counts, latency] = value;
    graph.edges.push_back({first, second, {bandwidth}, latency, std::max(counts[0], counts[1])});
  }
  for (std::int32_t v = 0; v < graph.vertices; ++v) {
    const auto name = stated.find(v);
    graph.names.push_back(v < nodes || name == stated.end() ? id_of(graph, v) : name->second);
  }
  return graph;
}

std::string drawing(const FabricGraph& graph) {
  const std::vector<int> level = levels(graph);
  const bool layered = is_layered(graph, level);
  const std::map<std::int32_t, std::vector<std::int32_t>> inside = nodes_in_switches(graph);
  std::string text = fmt::format(
      "graph fabric {{\n  layout={}; overlap=false; splines=true; fontname=Helvetica;\n"
      "  node [style=filled, fontname=Helvetica, fontsize=10, width=0.5, height=0.3];\n"
      "  edge [fontname=Helvetica, fontsize=9, penwidth=1.6];\n",
      layered ? "dot; rankdir=BT; nodesep=0.12; ranksep=1.2" : "neato; model=subset");
  for (std::int32_t v = inside.empty() ? 0 : static_cast<std::int32_t>(graph.nodes);
       v < graph.vertices; ++v) {
    std::string label = name_in(graph, v);
    if (const auto held = inside.find(v); held != inside.end())
      label += fmt::format("\nnode{}", fmt::join(held->second, ", "));
    text += fmt::format("  {} [label={}, shape={}, fillcolor=\"{}\"];\n", id_of(graph, v),
                        steptime::quoted(label), v < graph.nodes ? "box" : "ellipse",
                        v < graph.nodes ? "#c8e6c9" : "#bbdefb");
  }
  Legend legend(true);
  for (const auto& e : graph.edges) {
    const bool ends = e.first < graph.nodes || e.second < graph.nodes;
    const LinkStyle style =
        legend.style(ends ? "to a node" : "between switches", e.bandwidth, e.latency);
    if (ends && !inside.empty()) continue;
    text += drawn_link(id_of(graph, e.first), id_of(graph, e.second), style, e.count);
  }
  return text + legend.vertex("") + "}\n";
}

Json picture(const FabricGraph& graph) {
  const std::map<std::int32_t, std::vector<std::int32_t>> inside = nodes_in_switches(graph);
  const auto is_shown = [&](std::int32_t v) { return inside.empty() || v >= graph.nodes; };
  const std::int32_t hidden = inside.empty() ? 0 : static_cast<std::int32_t>(graph.nodes);
  const auto at = places(graph);
  Json vertices = Json::array();
  for (std::int32_t v = hidden; v < graph.vertices; ++v) {
    const auto held = inside.find(v);
    const auto& [x, y] = at[static_cast<std::size_t>(v)];
    vertices.push_back({{"name", name_in(graph, v)},
                        {"kind", v < graph.nodes ? "node" : "switch"},
                        {"holds", held == inside.end() ? 0 : held->second.size()},
                        {"x", x},
                        {"y", y}});
  }
  Json links = Json::array();
  for (const auto& e : graph.edges) {
    if (!is_shown(e.first) || !is_shown(e.second)) continue;
    links.push_back({{"first", e.first - hidden},
                     {"second", e.second - hidden},
                     {"GBps", e.bandwidth.bytes_per_second / 1e9},
                     {"latency_us", to_seconds(e.latency) * 1e6},
                     {"count", e.count}});
  }
  return {{"vertices", std::move(vertices)}, {"links", std::move(links)}};
}

}  // namespace steptime
