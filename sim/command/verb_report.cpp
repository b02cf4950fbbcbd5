// report CONFIG: a page about an experiment. report --topology: a machine as pictures for Graphviz,
// or as the routes between its GPUs; report
// --trees: the trees along which its GPUs add up.
#include "sim/command/escaping_output.h"
#include "sim/command/output_kinds.h"
#include "sim/command/progress_line.h"
#include "sim/command/tree_report.h"
#include "sim/command/verbs.h"
#include "sim/core/error.h"
#include "sim/drawing/fabric_drawing.h"
#include "sim/drawing/node_drawing.h"
#include "sim/drawing/report_data.h"
#include "sim/drawing/report_page.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/keys.h"
#include "sim/experiment/overrides.h"
#include "sim/network/cluster.h"
#include "sim/network/machine.h"
#include "sim/network/read_cluster.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

constexpr std::int64_t kMostDrawn = 1024;  ///< nodes

/// The cluster of an experiment, or a shipped machine; with `nodes` nodes, 0: its own number.
Cluster cluster_of(const std::string& target, std::int64_t nodes) {
  static const Params wrapper{{.key = "cluster", .kind = Kind::kObject}};
  if (target.ends_with(".json")) {
    std::vector<std::string> sets;
    if (nodes != 0) sets.push_back(fmt::format("/cluster/nodes={}", nodes));
    const Config config(load_document(target, sets), experiment_params());
    return read_cluster(config.object("cluster", cluster_params()));
  }
  const Json cluster{{"preset", target}, {"nodes", nodes != 0 ? nodes : 2}};
  const Config config(std::make_shared<Document>(Document{"report", Json{{"cluster", cluster}}}),
                      wrapper);
  return read_cluster(config.object("cluster", cluster_params()));
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

/// What connects the nodes.
std::string fabric_of(const Cluster& cluster) {
  if (cluster.nodes > kMostDrawn) {
    throw InputError(
        fmt::format("report: --fabric draws {} nodes at most, got {}", kMostDrawn, cluster.nodes));
  }
  return drawing(graph_of(cluster));
}

/// `path`: "" for standard output.
void write_page(const std::string& config, std::span<const std::string> sets,
                const std::string& path, const Terminal& terminal) {
  const auto document = load_document(config, sets);
  const std::string vega = vega_modules();  // before the run, which may take long, like the file
  std::optional<OutputFile> file;
  if (!path.empty()) file.emplace(path, kReportPage);
  const std::string page = [&] {
    ProgressLine line(terminal);
    const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    return report_page(report_data(document, threads, line.listener()), vega);
  }();
  if (!file) {
    EscapingOutput::is_data(terminal.out);
    terminal.out << page;
    return;
  }
  file->write(page);
  file->commit();
  terminal.err << "wrote " << path << ", open it in a browser\n";
}

}  // namespace

Exit verb_report(const Verb& verb, std::span<const std::string> args, const Terminal& terminal) {
  std::string format, output;
  std::vector<std::string> sets;
  TreeQuestion trees;
  po::options_description options("options");
  options.add_options()(
      "output,o", po::value(&output),
      "the page: one HTML file with charts, which needs no network; left out: standard output")(
      "set", po::value(&sets)->composing(), kSetHelp)("topology",
                                                      "instead of the page: the machine's links")(
      "trees",
      "instead of the page: the trees along which the GPUs of a node add up, one for each as the "
      "root")("format", po::value(&format)->default_value("table"),
              "table: routes between GPUs, or copies of each tree; dot: the inside of a node, for "
              "Graphviz; "
              "json: trees as MXNet's arrays")(
      "planner", po::value(&trees.planner)->default_value(trees.planner),
      "with --trees: how they are found")("penalty", po::value<double>(),
                                          "with --trees: the planner's, for each use of a link")(
      "gpus", po::value(&trees.gpus), "with --trees: some of the node's, such as 0,1,6,7")(
      "detection", po::value(&trees.detection)->default_value(trees.detection),
      "with --trees: the links that CUDA reports: exact, cuda-9.2 or cuda-9.2-repaired")(
      "fabric", "with --format dot: what connects the nodes, instead of the inside of one")(
      "nodes", po::value<std::int64_t>()->default_value(0, ""),
      "number of nodes; default: the config's, 2 of a preset");
  const auto values = parse_arguments(verb, args, options, {"TARGET"}, terminal);
  if (!values) return Exit::kOk;
  const auto target = (*values)["TARGET"].as<std::string>();
  const bool is_page = !values->contains("topology") && !values->contains("trees");
  if (values->contains("topology") && values->contains("trees"))
    throw InputError("report: --topology and --trees are two reports");
  if (is_page) {
    if (!target.ends_with(".json") && target != "-" && target != "/dev/stdin") {
      throw InputError(
          fmt::format("report: expected a config, such as x.json, or --topology or --trees of a "
                      "machine, got {}",
                      brief(target)));
    }
    if (!(*values)["format"].defaulted())
      throw InputError("report: --format needs --topology or --trees");
    write_page(target, sets, output, terminal);
    return Exit::kOk;
  }
  if (!output.empty() || !sets.empty()) {
    throw InputError(fmt::format("report: --{} is for the page about an experiment",
                                 output.empty() ? "set" : "output"));
  }
  if (values->contains("fabric") && format != "dot")
    throw InputError("report: --fabric needs --format dot");
  const std::int64_t nodes = (*values)["nodes"].as<std::int64_t>();
  if (nodes < 0) throw InputError(fmt::format("--nodes: must be at least 1, got {}", nodes));
  const Cluster cluster = cluster_of(target, nodes);
  if (values->contains("trees")) {
    if (values->contains("penalty")) trees.penalty = (*values)["penalty"].as<double>();
    terminal.out << tree_report(cluster, trees, format);
    return Exit::kOk;
  }
  if (format == "dot") {
    terminal.out << (values->contains("fabric") ? fabric_of(cluster) : drawing(node_of(cluster)));
  } else if (format == "table") {
    try {
      terminal.out << table(cluster);
    } catch (const PlacedError& e) {
      throw InputError(fmt::format("{}: {}", target, e.what()));
    }
  } else {
    throw InputError(fmt::format("--format: unknown \"{}\"; known: table, dot", format));
  }
  return Exit::kOk;
}

}  // namespace steptime
