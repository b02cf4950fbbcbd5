// A graph of the user's own: switches, the links between them, and the ports at each switch, which
// are the adapters of the nodes, node by node.
//
// Scope: full duplex, no limit inside a switch; all messages between two switches take one route,
// that of least latency, then of fewest links, or the widest. A port's link has the latency and
// bandwidth of "network", which is also what two ports at one switch see; the links between
// switches add theirs.
// Parameters: vertices, links, routes; as those inside a node.
#include "sim/config/binding.h"
#include "sim/network/fabric.h"
#include "sim/network/read_links.h"
#include "sim/network/switch_names.h"
#include "sim/network/topology.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params kParams{
    {.key = "vertices",
     .kind = Kind::kList,
     .help = "switches, a list of objects such as `{\"name\": \"leaf0\", \"ports\": 8}`: the next "
             "8 ports are at this switch, or, with a list of their numbers, from 0 on, these; none "
             "by default. A port is an adapter of a node, node by node: with one adapter each, "
             "port 3 is node 3"},
    links_param(),
    routes_param()};

const Params kVertexParams{{.key = "name", .kind = Kind::kText, .help = "unique in the fabric"},
                           {.key = "ports",
                            .kind = Kind::kAny,
                            .help = "how many, or the numbers of these",
                            .need = Need::kDefault,
                            .fallback = 0}};

constexpr std::int64_t kMostPorts = 10'000'000;
/// A route for each pair of them is kept.
constexpr std::size_t kMostSwitches = 1024;

class GraphFabric final : public Fabric, public NamesSwitches {
 public:
  GraphFabric(const Config& c, const FabricUse& use) : use_(use) {
    Topology graph;
    std::map<std::string, Topology::Vertex> by_name;
    for (const Config& vertex : c.objects("vertices", kVertexParams)) {
      const auto name = vertex.get<std::string>("name");
      if (!by_name.emplace(name, graph.vertices().size()).second)
        vertex.fail("name", fmt::format("\"{}\" is there twice", name));
      // Of the kinds inside a node one that passes messages on.
      attach(vertex, graph.add_vertex(name, VertexKind::kPcieSwitch));
    }
    if (by_name.size() > kMostSwitches) {
      c.fail("vertices", fmt::format("expected at most {}, got {}", kMostSwitches, by_name.size()));
    }
    for (std::int64_t port = 0; port < use.ports; ++port) {
      const auto found = switch_of_.find(port);
      if (found == switch_of_.end())
        c.fail("vertices", fmt::format("port {} is at none, but {} are needed", port, use.ports));
    }
    for (const StatedLink& link : read_links(c, by_name))
      graph.add_link({link.first, link.second, link.latency, link.bandwidth});
    links_ = graph.channels();
    for (const auto& link : graph.links()) {
      ends_.push_back(link.second);
      ends_.push_back(link.first);
    }
    for (const auto& vertex : graph.vertices())
      names_.push_back(vertex.name);
    find_routes(c, graph);
  }

  std::int64_t ports() const override { return use_.ports; }
  /// The ports' outwards, the same inwards, and the two of each link.
  std::vector<Channel> channels() const override {
    const LatencyHalves latency(use_.latency);
    const auto ports = static_cast<std::size_t>(use_.ports);
    std::vector<Channel> channels(ports, {use_.bandwidth, latency.out});
    channels.insert(channels.end(), ports, {use_.bandwidth, latency.in});
    channels.insert(channels.end(), links_.begin(), links_.end());
    return channels;
  }
  std::int64_t channel_count() const override { return 2 * use_.ports + std::ssize(links_); }
  void route(std::int64_t from, std::int64_t to, std::vector<ChannelId>& path) const override {
    path.push_back(static_cast<ChannelId>(from));
    const Topology::Paths& routes = routes_[static_cast<std::size_t>(switch_of_.at(from))];
    for (const ChannelId link : routes[static_cast<std::size_t>(switch_of_.at(to))])
      path.push_back(static_cast<ChannelId>(2 * use_.ports) + link);
    path.push_back(static_cast<ChannelId>(use_.ports + to));
  }

  std::string switch_behind(ChannelId channel) const override {
    const std::int64_t link = std::int64_t{channel} - 2 * use_.ports;
    if (link < 0 && channel >= use_.ports) return "";
    const Topology::Vertex end =
        link < 0 ? switch_of_.at(channel) : ends_[static_cast<std::size_t>(link)];
    return names_[static_cast<std::size_t>(end)];
  }

 private:
  void attach(const Config& vertex, Topology::Vertex at) {
    const Json& ports = vertex.raw("ports");
    const auto take = [&](const Json& number) {
      const bool is_whole = number.is_number_integer();
      const auto stated = is_whole ? number.get<std::int64_t>() : -1;
      if (stated < 0 || stated > kMostPorts) {
        vertex.fail("ports", fmt::format("expected a whole number from 0 to {} or a list of such, "
                                         "got {}",
                                         kMostPorts, brief(number)));
      }
      return stated;
    };
    const auto add = [&](std::int64_t port) {
      if (!switch_of_.emplace(port, at).second)
        vertex.fail("ports", fmt::format("port {} is there twice", port));
    };
    if (ports.is_array()) {
      for (const Json& port : ports)
        add(take(port));
      return;
    }
    const std::int64_t end = next_ + take(ports);
    while (next_ < end)
      add(next_++);
  }

  void find_routes(const Config& c, const Topology& graph) {
    std::vector<Topology::Vertex> all(graph.vertices().size());
    std::vector<bool> has_ports(all.size());
    for (std::size_t v = 0; v < all.size(); ++v)
      all[v] = static_cast<Topology::Vertex>(v);
    for (const auto& [port, at] : switch_of_) {
      if (port < use_.ports) has_ports[static_cast<std::size_t>(at)] = true;
    }
    routes_ =
        graph.routes_from(all, c.get<std::string>("routes") == "widest" ? RouteMetric::kWidest
                                                                        : RouteMetric::kShortest);
    for (std::size_t a = 0; a < all.size(); ++a) {
      for (std::size_t b = 0; b < all.size(); ++b) {
        if (a == b || !has_ports[a] || !has_ports[b] || !routes_[a][b].empty()) continue;
        c.fail("links", fmt::format("no route from \"{}\" to \"{}\"", graph.vertices()[a].name,
                                    graph.vertices()[b].name));
      }
    }
  }

  FabricUse use_;
  std::map<std::int64_t, Topology::Vertex> switch_of_;  ///< by port
  std::int64_t next_ = 0;                               ///< behind those that are counted
  std::vector<Channel> links_;
  std::vector<Topology::Vertex> ends_;   ///< where each of these leads to
  std::vector<std::string> names_;       ///< switches have them
  std::vector<Topology::Paths> routes_;  ///< from each switch to each
};

const bool kRegistered = Fabrics::instance().add(
    "graph", "switches and links of one's own, with ports at each", kParams,
    [](const Config& c, const FabricUse& use) { return std::make_unique<GraphFabric>(c, use); });

}  // namespace
}  // namespace steptime
