// The profiles of PipeDream: its graph.txt, or the nodes of one as CSV.
//
//   node2 -- Conv2d(3, 64, bias=False) -- forward_compute_time=9.706, backward_compute_time=4.551,
//     activation_size=411041792.000, parameter_size=37632.000      (one line; times ms, sizes
//     bytes)
//   <tab>node1 -- node2                                            (an edge)
// A node may end in " -- stage_id=N"; an activation_size may be "[N; N]".
// CSV: a header "node,layer,fwd_ms,bwd_ms,activation_bytes,param_bytes", then a row per node.
//
// Format: msr-fiddle/pipedream graph/graph.py, Node and Graph.
// Scope: layers are ordered by node number, which is the order of the forward pass; every edge must
// go from a lower to a higher one. Input nodes are left out, as PipeDream's optimizer does: their
// forward time is the wait for input data. Nothing else is, so operations without time remain.
// Limits: weights and biases of a layer are one tensor of parameter_size / 4 (float32) parameters.
// A layer is named by its node and kind ("node2:Conv2d"). The times contain a synchronisation with
// the device per layer.
#include "models/importers/profile_text.h"
#include "sim/core/error.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params kParams{};
constexpr std::string_view kHeader = "node,layer,fwd_ms,bwd_ms,activation_bytes,param_bytes";
constexpr std::int64_t kBytesPerParam = 4;

/// By node number.
using Nodes = std::map<std::int64_t, Layer>;

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (auto at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

/// "node12" to 12.
std::int64_t node_number(const ProfileLine& line, std::string_view text) {
  constexpr std::string_view lead = "node";
  if (!text.starts_with(lead)) line.fail("a node \"nodeN\"", text);
  return line.integer(text.substr(lead.size()), "a node number");
}

/// A size, or several in brackets, of which only the form is checked.
void check_activation(const ProfileLine& line, std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  for (const std::string_view size : split(text, "; "))
    line.integer(size, "activation bytes");
}

bool is_input(std::string_view description) {
  constexpr std::string_view lead = "Input";
  return description.starts_with(lead) &&
         std::all_of(description.begin() + lead.size(), description.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

/// What a node's line says, as text.
struct NodeText {
  std::string_view description, forward, backward, activation, param_bytes;
};

void add_node(Nodes& nodes, const ProfileLine& line, std::int64_t number, const NodeText& text) {
  const std::string description = line.name(text.description);
  Layer layer{
      .name = fmt::format("node{}:{}", number, description.substr(0, description.find('('))),
      .forward = line.time(text.forward, "ms"),
      .backward = line.time(text.backward, "ms")};
  check_activation(line, text.activation);
  const std::int64_t bytes = line.integer(text.param_bytes, "parameter bytes");
  if (bytes % kBytesPerParam != 0) line.fail("a multiple of 4 parameter bytes", text.param_bytes);
  if (bytes > 0) layer.tensors.push_back({layer.name, bytes / kBytesPerParam});
  if (is_input(description)) layer = {};
  if (!nodes.emplace(number, std::move(layer)).second) {
    line.fail("each node once", fmt::format("node{} again", number));
  }
}

/// The values of "key=value, key=value, ..." with exactly these keys.
std::array<std::string_view, 4> read_metadata(const ProfileLine& line, std::string_view text) {
  constexpr std::array<std::string_view, 4> keys{
      "forward_compute_time=", "backward_compute_time=", "activation_size=", "parameter_size="};
  const std::vector<std::string_view> parts = split(text, ", ");
  std::array<std::string_view, 4> values;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (parts.size() != keys.size() || !parts[i].starts_with(keys[i])) {
      line.fail("forward_compute_time=, backward_compute_time=, activation_size=, parameter_size=",
                text);
    }
    values[i] = parts[i].substr(keys[i].size());
  }
  return values;
}

struct Edge {
  ProfileLine line;
  std::int64_t from, to;
};

Edge read_edge(const ProfileLine& line) {
  const std::vector<std::string_view> ends = split(line.text().substr(1), " -- ");
  if (ends.size() != 2) line.fail("an edge \"<tab>nodeN -- nodeM\"");
  return {line, node_number(line, ends[0]), node_number(line, ends[1])};
}

Nodes read_graph(const std::vector<ProfileLine>& lines) {
  Nodes nodes;
  std::vector<Edge> edges;
  for (const ProfileLine& line : lines) {
    if (line.text().front() == '\t') {
      edges.push_back(read_edge(line));
      continue;
    }
    const std::vector<std::string_view> parts = split(line.text(), " -- ");
    const bool staged = parts.size() == 4 && parts[3].starts_with("stage_id=");
    if (parts.size() != 3 && !staged) {
      line.fail("\"nodeN -- LAYER -- forward_compute_time=...\"");
    }
    const auto [forward, backward, activation, param_bytes] = read_metadata(line, parts[2]);
    add_node(nodes, line, node_number(line, parts[0]),
             {parts[1], forward, backward, activation, param_bytes});
  }
  for (const Edge& edge : edges) {
    for (const std::int64_t end : {edge.from, edge.to}) {
      if (!nodes.contains(end)) edge.line.fail("an edge between nodes", fmt::format("node{}", end));
    }
    if (edge.from >= edge.to) edge.line.fail("an edge from a lower to a higher node");
  }
  return nodes;
}

Nodes read_graph_csv(const std::vector<ProfileLine>& lines) {
  Nodes nodes;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = lines[i].fields(lines[i].text(), 6);
    add_node(nodes, lines[i], lines[i].integer(fields[0], "a node number"),
             {fields[1], fields[2], fields[3], fields[4], fields[5]});
  }
  return nodes;
}

class PipeDream final : public Importer {
 public:
  Imported import(const ImportRequest& request) const override {
    if (!request.layer_table.empty()) {
      throw InputError(
          fmt::format("{}: expected no layer table, as the profile has parameter counts, got {}",
                      request.file, brief(request.layer_table)));
    }
    const std::vector<ProfileLine> lines = profile_lines(request);
    Nodes nodes = lines.front().text() == kHeader ? read_graph_csv(lines) : read_graph(lines);
    Trace trace = empty_trace(request,
                              "Input nodes (the wait for data) are left out; the parameters of a "
                              "layer are one tensor of parameter bytes / 4.");
    for (auto& [number, layer] : nodes) {
      if (!layer.name.empty()) trace.layers.push_back(std::move(layer));
    }
    check_imported(trace, request.file);
    return {.trace = std::move(trace)};
  }
};

const bool kRegistered =
    Importers::instance().add("pipedream", "a profile of PipeDream: graph.txt, or its nodes as CSV",
                              kParams, [](const Config&) { return std::make_unique<PipeDream>(); });

}  // namespace
}  // namespace steptime
