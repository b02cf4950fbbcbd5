#include "sim/drawing/node_drawing.h"

#include "sim/drawing/legend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr double kSpace = 1.05;  ///< inches between neighbours on a ring

/// How far from the middle a vertex stands.
int ring_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::kNvlinkSwitch:
      return 0;
    case VertexKind::kGpu:
      return 1;
    case VertexKind::kPcieSwitch:
      return 2;
    case VertexKind::kSocket:
      return 3;
    case VertexKind::kNic:
    case VertexKind::kHostMemory:
      return 4;
  }
  return 4;
}
constexpr int kRings = 5;

/// Places the vertices of a node: each as near as can be to what joins it further inside.
class Places {
 public:
  explicit Places(const Topology& node) : node_(node), angle_(node.vertices().size()) {
    double radius = 0;
    for (int ring = 0; ring < kRings; ++ring) {
      const std::vector<std::size_t> members = of_ring(ring);
      const double wanted = static_cast<double>(members.size()) * kSpace / (2 * std::numbers::pi);
      if (ring > 0) radius += 1.2;
      if (members.size() > 1) radius = std::max(radius, wanted);
      radius_[static_cast<std::size_t>(ring)] = radius;
      place(members, radius);
    }
  }
  std::pair<double, double> of(std::size_t vertex) const {
    const auto ring = static_cast<std::size_t>(ring_of(node_.vertices()[vertex].kind));
    return {radius_[ring] * std::cos(*angle_[vertex]), radius_[ring] * std::sin(*angle_[vertex])};
  }
  double rightmost() const {
    double x = 0;
    for (std::size_t v = 0; v < angle_.size(); ++v)
      x = std::max(x, of(v).first);
    return x;
  }

 private:
  std::vector<std::size_t> of_ring(int ring) const {
    std::vector<std::size_t> members;
    for (std::size_t v = 0; v < angle_.size(); ++v) {
      if (ring_of(node_.vertices()[v].kind) == ring) members.push_back(v);
    }
    return members;
  }

  /// The middle of the neighbours that have a place.
  std::optional<double> towards_neighbours(std::size_t vertex) const {
    double x = 0;
    double y = 0;
    for (const auto& link : node_.links()) {
      const auto first = static_cast<std::size_t>(link.first);
      const auto second = static_cast<std::size_t>(link.second);
      if (first != vertex && second != vertex) continue;
      const std::size_t other = first == vertex ? second : first;
      if (!angle_[other]) continue;
      x += std::cos(*angle_[other]);
      y += std::sin(*angle_[other]);
    }
    if (std::hypot(x, y) < 1e-9) return std::nullopt;
    return std::atan2(y, x);
  }

  void place(const std::vector<std::size_t>& members, double radius) {
    const double step =
        2 * std::numbers::pi / std::max<double>(1, static_cast<double>(members.size()));
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < members.size(); ++i) {
      // Clockwise from the top left, so that pairs stand side by side.
      const double evenly = std::numbers::pi / 2 + step * (0.5 - static_cast<double>(i));
      const bool inner = ring_of(node_.vertices()[members[i]].kind) <= 1;
      order.emplace_back(inner ? evenly : towards_neighbours(members[i]).value_or(evenly),
                         members[i]);
    }
    if (radius > 0) spread(order, kSpace / radius);
    for (const auto& [angle, vertex] : order)
      angle_[vertex] = angle;
  }

  /// Pushes those apart that are nearer than `gap`.
  static void spread(std::vector<std::pair<double, std::size_t>>& order, double gap) {
    // Clockwise in the order of their numbers: at one angle the greatest number comes first.
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first, b.second) < std::pair(b.first, a.second);
    });
    const std::size_t n = order.size();
    for (int round = 0; round < 200 && n > 1; ++round) {
      for (std::size_t i = 0; i < n; ++i) {
        const bool around = i + 1 == n;
        double& low = order[i].first;
        double& high = order[(i + 1) % n].first;
        const double missing = gap - (high + (around ? 2 * std::numbers::pi : 0) - low);
        if (missing <= 0) continue;
        low -= missing / 2;
        high += missing / 2;
      }
    }
  }

  const Topology& node_;
  std::vector<std::optional<double>> angle_;
  std::array<double, kRings> radius_{};
};

const char* shape_of(VertexKind kind) {
  const bool is_switch = kind == VertexKind::kNvlinkSwitch || kind == VertexKind::kPcieSwitch;
  return is_switch ? "ellipse" : "box";
}

const char* fill_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::kGpu:
      return "#c8e6c9";
    case VertexKind::kHostMemory:
      return "#eeeeee";
    case VertexKind::kSocket:
      return "#ffe0b2";
    case VertexKind::kPcieSwitch:
      return "#bbdefb";
    case VertexKind::kNvlinkSwitch:
      return "#a5d6a7";
    case VertexKind::kNic:
      return "#ffcdd2";
  }
  return "white";
}

/// The share of time for which a direction of a link is busy.
double busy(const Topology& node, Topology::Vertex from, Topology::Vertex to,
            const std::string& kind, std::span<const LinkUse> uses) {
  const auto name = [&](Topology::Vertex v) -> const std::string& {
    return node.vertices()[static_cast<std::size_t>(v)].name;
  };
  const auto found = std::find_if(uses.begin(), uses.end(), [&](const LinkUse& use) {
    return use.from == name(from) && use.to == name(to) && use.kind == kind;
  });
  return found == uses.end() ? 0 : found->busy;
}

}  // namespace

Topology node_of(const Cluster& cluster) {
  if (cluster.node != nullptr) return *cluster.node;
  Topology node;
  const bool has_nvlink = cluster.gpus && cluster.gpus->links != GpuNode::Links::kPcie;
  const auto hub =
      node.add_vertex("switch", has_nvlink ? VertexKind::kNvlinkSwitch : VertexKind::kPcieSwitch);
  for (std::int64_t g = 0; g < cluster.gpus_per_node; ++g) {
    const auto gpu = node.add_vertex(fmt::format("gpu{}", g), VertexKind::kGpu);
    node.add_link({gpu, hub, cluster.intra_node.latency / 2, cluster.intra_node.bandwidth, 1, ""});
  }
  node.add_link({hub,
                 node.add_vertex("nic", VertexKind::kNic),
                 {},
                 cluster.network.bandwidth,
                 1,
                 "port of the network"});
  return node;
}

std::string drawing(const Topology& node, std::span<const LinkUse> uses) {
  std::string text =
      "graph machine {\n  layout=neato; splines=true; fontname=Helvetica;\n"
      "  node [style=filled, fontname=Helvetica, fontsize=12, width=0.7, height=0.35];\n"
      "  edge [fontname=Helvetica, fontsize=10, penwidth=1.6];\n";
  const Places places(node);
  for (std::size_t v = 0; v < node.vertices().size(); ++v) {
    const auto& vertex = node.vertices()[v];
    const auto [x, y] = places.of(v);
    text += fmt::format("  v{} [label={}, shape={}, fillcolor=\"{}\", pos=\"{:.3f},{:.3f}!\"];\n",
                        v, quoted(vertex.name), shape_of(vertex.kind), fill_of(vertex.kind), x, y);
  }
  Legend legend(false);
  for (const auto& link : node.links()) {
    const Bandwidth one{link.bandwidth.bytes_per_second / static_cast<double>(link.count)};
    const std::string first = fmt::format("v{}", link.first);
    const std::string second = fmt::format("v{}", link.second);
    const LinkStyle style = legend.style(link.kind, one, link.latency);
    const double there = busy(node, link.first, link.second, link.kind, uses);
    const double back = busy(node, link.second, link.first, link.kind, uses);
    const bool is_used = there + back > 0;
    text += drawn_link(
        first, second, style, link.count,
        is_used ? fmt::format("{:.0f} / {:.0f} %", there * 100, back * 100) : std::string());
  }
  return text + legend.vertex(fmt::format(", pos=\"{:.3f},0!\"", places.rightmost() + 2.4)) + "}\n";
}

Json picture(const Topology& node, std::span<const LinkUse> uses) {
  const Places places(node);
  Json vertices = Json::array();
  for (std::size_t v = 0; v < node.vertices().size(); ++v) {
    const auto& vertex = node.vertices()[v];
    const auto [x, y] = places.of(v);
    vertices.push_back({{"name", vertex.name}, {"kind", name_of(vertex.kind)}, {"x", x}, {"y", y}});
  }
  Json links = Json::array();
  for (const auto& link : node.links()) {
    links.push_back(
        {{"first", link.first},
         {"second", link.second},
         {"kind", link.kind},
         {"GBps", link.bandwidth.bytes_per_second / static_cast<double>(link.count) / 1e9},
         {"latency_us", to_seconds(link.latency) * 1e6},
         {"count", link.count},
         {"there", busy(node, link.first, link.second, link.kind, uses)},
         {"back", busy(node, link.second, link.first, link.kind, uses)}});
  }
  return {{"vertices", std::move(vertices)}, {"links", std::move(links)}};
}

}  // namespace steptime
