#include "sim/drawing/fabric_drawing.h"

#include "sim/drawing/legend.h"

#include <algorithm>
#include <array>
#include <map>
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

std::string name_in(const FabricGraph& graph, std::int32_t vertex) {
  return vertex < graph.nodes ? fmt::format("node{}", vertex)
                              : fmt::format("switch{}", vertex - graph.nodes);
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

}  // namespace

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
  // The two directions of a link are one edge; the latency is the longer one.
  using Key = std::tuple<std::int32_t, std::int32_t, double>;
  std::map<Key, std::pair<std::array<std::int64_t, 2>, Duration>> edges;
  for (ChannelId c = 0; c < channels.size(); ++c) {
    if (!used[c]) continue;
    const std::int32_t first = vertex(begin(c));
    const std::int32_t second = vertex(end(c));
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
  return graph;
}

std::string drawing(const FabricGraph& graph) {
  const std::vector<int> level = levels(graph);
  // Switches above the nodes, rank by rank, unless links join what stands at one height.
  const bool layered = std::all_of(graph.edges.begin(), graph.edges.end(), [&](const auto& e) {
    return level[static_cast<std::size_t>(e.first)] != level[static_cast<std::size_t>(e.second)];
  });
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
      label += fmt::format("\\nnode{}", fmt::join(held->second, ", "));
    text +=
        fmt::format("  {} [label=\"{}\", shape={}, fillcolor=\"{}\"];\n", name_in(graph, v), label,
                    v < graph.nodes ? "box" : "ellipse", v < graph.nodes ? "#c8e6c9" : "#bbdefb");
  }
  Legend legend(true);
  for (const auto& e : graph.edges) {
    const bool ends = e.first < graph.nodes || e.second < graph.nodes;
    const LinkStyle style =
        legend.style(ends ? "to a node" : "between switches", e.bandwidth, e.latency);
    if (ends && !inside.empty()) continue;
    text += drawn_link(name_in(graph, e.first), name_in(graph, e.second), style, e.count);
  }
  return text + legend.vertex("") + "}\n";
}

}  // namespace steptime
