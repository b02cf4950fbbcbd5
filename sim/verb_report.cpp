// report --topology: a machine as a graph, for Graphviz or as the routes between its GPUs.
#include "sim/cluster.h"
#include "sim/experiment.h"
#include "sim/machine.h"
#include "sim/verbs.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

/// The cluster of an experiment, or a shipped machine.
Cluster cluster_of(const std::string& target) {
  static const Params wrapper{{.key = "cluster", .kind = Kind::kObject}};
  if (target.ends_with(".json")) {
    const Config config(load_document(target, {}), experiment_params());
    return read_cluster(config.object("cluster", cluster_params()));
  }
  const Json cluster{{"preset", target}, {"nodes", 2}};
  const Config config(
      std::make_shared<Document>(Document{"steptime report", Json{{"cluster", cluster}}}), wrapper);
  return read_cluster(config.object("cluster", cluster_params()));
}

/// The inside of a node; a node without a graph is its GPUs on a switch.
Topology node_of(const Cluster& cluster) {
  if (cluster.node != nullptr) return *cluster.node;
  Topology node;
  const auto hub = node.add_vertex("switch", VertexKind::kPcieSwitch);
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

std::string escaped(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string dot(const Topology& node) {
  std::string text = "graph node {\n  layout=neato; overlap=false; node [style=filled];\n";
  for (const auto& vertex : node.vertices()) {
    const bool ends = vertex.kind == VertexKind::kGpu || vertex.kind == VertexKind::kNic ||
                      vertex.kind == VertexKind::kHostMemory;
    text += fmt::format("  {} [shape={}, tooltip={}];\n", escaped(vertex.name),
                        ends ? "box" : "ellipse", escaped(std::string(name_of(vertex.kind))));
  }
  for (const auto& link : node.links()) {
    const auto name = [&](Topology::Vertex v) {
      return escaped(node.vertices()[static_cast<std::size_t>(v)].name);
    };
    const std::string label = fmt::format(
        "{}{}{:.4g} GB/s", link.count > 1 ? fmt::format("{} x ", link.count) : "",
        link.kind.empty() ? "" : link.kind + " ", link.bandwidth.bytes_per_second / 1e9);
    text += fmt::format("  {} -- {} [label={}, penwidth={}];\n", name(link.first),
                        name(link.second), escaped(label), std::min<std::int64_t>(link.count, 8));
  }
  return text + "}\n";
}

/// Between any two GPUs of a node and to another node: bandwidth of the route and its hops.
std::string table(const Cluster& cluster) {
  const Machine machine(cluster);
  const std::vector<Channel> channels = machine.channels();
  const auto gpus = static_cast<Endpoint>(cluster.gpus_per_node);
  std::string text = "GB/s (links) from row to column\n\n     ";
  const Endpoint columns = cluster.nodes > 1 ? gpus + 1 : gpus;
  for (Endpoint to = 0; to < columns; ++to)
    text += fmt::format("{:>12}", to < gpus ? fmt::format("gpu{}", to) : "other node");
  for (Endpoint from = 0; from < gpus; ++from) {
    text += fmt::format("\n{:<5}", fmt::format("gpu{}", from));
    for (Endpoint to = 0; to < columns; ++to) {
      std::vector<ChannelId> path;
      machine.route(from, to, path);
      double width = std::numeric_limits<double>::infinity();
      for (const ChannelId c : path)
        width = std::min(width, channels[c].bandwidth.bytes_per_second);
      text += fmt::format(
          "{:>12}", path.empty() ? "-" : fmt::format("{:.4g} ({})", width / 1e9, path.size()));
    }
  }
  return text + "\n";
}

}  // namespace

Exit verb_report(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::string format;
  po::options_description options("options");
  options.add_options()("topology", "the machine's links (the only report so far)")(
      "format", po::value(&format)->default_value("table"),
      "table: routes between GPUs; dot: the node's links, for Graphviz");
  const auto values = parse_arguments(verb, args, options, {"TARGET"}, terminal);
  if (!values) return Exit::kOk;
  if (values->count("topology") == 0) throw InputError("steptime report: expected --topology");
  const Cluster cluster = cluster_of((*values)["TARGET"].as<std::string>());
  if (format == "dot") {
    terminal.out << dot(node_of(cluster));
  } else if (format == "table") {
    terminal.out << table(cluster);
  } else {
    throw InputError(fmt::format("--format: unknown \"{}\"; known: table, dot", format));
  }
  return Exit::kOk;
}

}  // namespace steptime
