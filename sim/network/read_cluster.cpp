#include "sim/network/read_cluster.h"

#include "sim/config/binding.h"
#include "sim/config/data_dir.h"
#include "sim/config/digest.h"
#include "sim/config/input_files.h"
#include "sim/config/key_use.h"
#include "sim/config/words.h"
#include "sim/core/error.h"
#include "sim/network/gpu_ring.h"
#include "sim/network/machine.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr double kMostNodes = 1e7;
constexpr double kMostGpusPerNode = 1024;

const Params& preset_params() {
  static const Params params{
      {.key = "format",
       .kind = Kind::kText,
       .help = "steptime-cluster",
       .words = {"steptime-cluster"}},
      {.key = "version", .kind = Kind::kInteger, .range = {.low = 1, .high = 1}},
      {.key = "help", .kind = Kind::kText, .help = "one line for `list`"},
      {.key = "sources", .kind = Kind::kObject, .help = "where each number stands"},
      {.key = "cluster", .kind = Kind::kObject, .help = "as in an experiment"},
      {.key = "provenance",
       .kind = Kind::kObject,
       .help = "of what was measured",
       .need = Need::kOptional},
      {.key = "operations",
       .kind = Kind::kObject,
       .help = "measured collectives, see sim/collective/profile.h",
       .need = Need::kOptional},
      {.key = "advice",
       .kind = Kind::kList,
       .help = "what to measure next",
       .need = Need::kOptional}};
  return params;
}

struct Preset {
  std::string help;
  Json cluster;
  std::string profile;
  std::string file = {};  ///< the user's own; "" for a shipped preset
};

Preset parse_preset(const std::string& text, const std::string& file) {
  const Config preset(std::make_shared<Document>(Document{file, parse_json(text, file)}),
                      preset_params());
  return {preset.get<std::string>("help"), preset.object("cluster", cluster_params()).node(),
          preset.has("operations") ? file : "", file};
}

struct ShippedPreset {
  Preset preset;
  std::unique_ptr<const KeptInput> file;
};

/// The shipped presets by name, read once.
const std::map<std::string, ShippedPreset>& presets() {
  static const std::map<std::string, ShippedPreset> all = [] {
    std::map<std::string, ShippedPreset> read;
    for (const std::string& file :
         files_in((data_dir() / "netmodels" / "presets").string(), ".json")) {
      const std::string text = text_at(file);
      Preset preset = parse_preset(text, file);
      preset.file.clear();
      read[std::filesystem::path(file).stem().string()] = {
          std::move(preset), std::make_unique<const KeptInput>(file, sha1_of(text))};
    }
    return read;
  }();
  return all;
}

/// A preset by its name, or by a file's name, relative to the file that names it.
Preset preset_of(const Config& section) {
  const auto name = section.get<std::string>("preset");
  if (const auto found = presets().find(name); found != presets().end()) {
    found->second.file->use();
    return found->second.preset;
  }
  if (name.ends_with(".json")) {
    const auto file = (std::filesystem::path(section.file()).parent_path() / name).string();
    return parse_preset(read_file(file), file);
  }
  std::vector<std::string> known;
  for (const auto& [each, unused] : presets())
    known.push_back(each);
  section.fail("preset", unknown_word(name, known));
}

/// `over` with the keys of `under` that it lacks; and so "gpus", where it does not say anew what
/// joins them.
Json merged(const Json& over, const Json& under) {
  Json full = over;
  for (const auto& [key, value] : under.items()) {
    if (!full.contains(key)) {
      full[key] = value;
    } else if (key == "gpus" && full[key].is_object() && !full[key].contains("links")) {
      full[key] = merged(full[key], value);
    }
  }
  return full;
}

/// A document of its own, with the pointers of an experiment and of a preset.
Config as_document(const std::string& file, const Json& cluster) {
  static const Params wrapper{{.key = "cluster", .kind = Kind::kObject}};
  return Config(std::make_shared<Document>(Document{file, Json{{"cluster", cluster}}}), wrapper)
      .object("cluster", cluster_params());
}

/// What `read` makes of the section with the preset's keys beneath its own. What is wrong in a
/// preset of the user's own is told as that file's: it says the same of the preset alone.
template <class Read>
auto read_over(const Config& section, const Preset& preset, Read read) {
  Json full = merged(section.node(), preset.cluster);
  full.erase("preset");
  try {
    return read(as_document(section.file(), full));
  } catch (const InputError& e) {
    const std::string_view said = e.what();
    if (preset.file.empty() || !said.starts_with(section.file())) throw;
    const std::string own = preset.file + std::string(said.substr(section.file().size()));
    try {
      read(as_document(preset.file, preset.cluster));
    } catch (const InputError& alone) {
      if (alone.what() == own) throw;
    }
    throw;
  }
}

}  // namespace

const Params& cluster_params() {
  static const Params params{
      {.key = "preset",
       .kind = Kind::kText,
       .help = "a shipped machine, or a file like theirs, such as a profile of `calibrate fit`; "
               "the other keys override it",
       .need = Need::kOptional},
      {.key = "nodes",
       .kind = Kind::kInteger,
       .help = "workers are nodes times GPUs of a node; required without a preset",
       .range = {.low = 1, .high = kMostNodes}},
      {.key = "gpus_per_node",
       .kind = Kind::kInteger,
       .help = "that work; the first ones of a machine that has more",
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 1, .high = kMostGpusPerNode}},
      {.key = "network",
       .kind = Kind::kObject,
       .help = "between nodes; where these have a `node`, between two of its adapters; required "
               "without a preset",
       .choice = NetworkKind::kNoun},
      {.key = "intra_node",
       .kind = Kind::kObject,
       .help = "the same between the GPUs of a node, where no `node` says more; required where it "
               "has several and neither `node` nor `gpus`, which `nccl` goes by; default with a "
               "`node`: the worst of the ways between neighbours on a ring of its GPUs",
       .need = Need::kOptional,
       .choice = NetworkKind::kNoun},
      {.key = "intra_node_beside_kernels",
       .kind = Kind::kNumber,
       .help =
           "how many times as long a byte takes between the GPUs of a node while their kernels "
           "run, over `intra_node`, `node` or `gpus`, as where kernels of NCCL copy through the "
           "host's memory; at `analytic` fidelity of collectives alone, in messages of all that "
           "crosses a link between GPUs; with the overlap `none`, and by default, 1",
       .need = Need::kOptional,
       .range = {.low = 1, .high = 100}},
      {.key = "reduction",
       .kind = Kind::kTimePerByte,
       .help = "gamma, the time to add one more byte of gradients",
       .need = Need::kDefault,
       .fallback = "0 s/B",
       .range = kNotNegative},
      {.key = "node",
       .kind = Kind::kObject,
       .help =
           "the inside of a node as a graph; default: its GPUs on one switch, over `intra_node`",
       .need = Need::kOptional,
       .table = topology_params},
      {.key = "fabric",
       .kind = Kind::kObject,
       .help = "what connects the nodes; closed forms know one up to 4,096 ranks, and take a "
               "larger one for a switch; default: one switch",
       .need = Need::kOptional,
       .choice = Fabric::kNoun},
      {.key = "messages",
       .kind = Kind::kObject,
       .help = "how messages travel, for message fidelity",
       .need = Need::kDefault,
       .fallback = Json::object(),
       .table = message_params},
      {.key = "gpus",
       .kind = Kind::kObject,
       .help = "what the GPUs are and what joins them, for NCCL",
       .need = Need::kOptional,
       .table = gpus_params}};
  return params;
}

namespace {

const bool kUses = acts_at("message", "switching", "switching") &&
                   acts_at("message", "ports", "switching") &&
                   acts_at("message", "eager_limit", "switching") &&
                   acts_at("message", "eager_overhead", "switching") &&
                   acts_at("message", "rendezvous_overhead", "switching");

const Bindings<MessageOptions>& message_keys() {
  using M = MessageOptions;
  static const Bindings<M> keys{
      {&M::store_and_forward, "switching",
       "whether a message is whole at each hop before it goes on", "cut-through",
       one_of("cut-through", "store-and-forward")},
      Bindings<M>::Binding{
          {.key = "ports",
           .kind = Kind::kText,
           .help = "messages that meet at a port of the fabric share it, or take turns",
           .need = Need::kDefault,
           .fallback = "fair",
           .words = {"fair", "fifo"}}},
      {&M::eager_limit, "eager_limit", "the largest message that is sent without a rendezvous",
       "0 B", kNotNegative},
      {&M::eager_overhead, "eager_overhead", "added to the latency up to the limit", "0 s",
       kNotNegative},
      {&M::rendezvous_overhead, "rendezvous_overhead", "added to the latency beyond it", "0 s",
       kNotNegative}};
  return keys;
}

}  // namespace

const Params& message_params() {
  return message_keys().params();
}

namespace {

/// The node with its first `count` NICs, and without the links of the others.
Topology with_nics(const Topology& node, std::int64_t count) {
  Topology kept;
  std::vector<Topology::Vertex> place;
  for (const Topology::VertexInfo& vertex : node.vertices()) {
    const bool left_out = vertex.kind == VertexKind::kNic && count-- <= 0;
    place.push_back(left_out ? -1 : kept.add_vertex(vertex.name, vertex.kind));
  }
  for (Topology::LinkInfo link : node.links()) {
    link.first = place[static_cast<std::size_t>(link.first)];
    link.second = place[static_cast<std::size_t>(link.second)];
    if (link.first >= 0 && link.second >= 0) kept.add_link(std::move(link));
  }
  return kept;
}

/// The NICs that "gpus" counts, whatever the graph has beside them; 0: all of the graph's.
std::int64_t counted_nics(const Config& section, const Topology& node) {
  if (!section.has("gpus")) return 0;
  const Config gpus = section.object("gpus", gpus_params());
  if (!gpus.has("nics")) return 0;
  const auto nics = gpus.get<std::int64_t>("nics");
  if (const auto most = std::ssize(node.of_kind(VertexKind::kNic)); nics > most)
    gpus.fail("nics", fmt::format("expected at most the {} of \"node\", got {}", most, nics));
  return nics;
}

void read_graph(const Config& section, Cluster& cluster) {
  if (section.has("node")) {
    const Config node = section.object("node", topology_params());
    cluster.node = std::make_shared<Topology>(read_topology(node));
    cluster.metric =
        node.get<std::string>("routes") == "widest" ? RouteMetric::kWidest : RouteMetric::kShortest;
    const auto gpus = cluster.node->of_kind(VertexKind::kGpu).size();
    if (static_cast<std::size_t>(cluster.gpus_per_node) > gpus) {
      section.fail("node", fmt::format("has {} vertices of kind \"gpu\", but gpus_per_node is {}",
                                       gpus, cluster.gpus_per_node));
    }
    if (const std::int64_t nics = counted_nics(section, *cluster.node); nics > 0)
      cluster.node = std::make_shared<Topology>(with_nics(*cluster.node, nics));
    const bool has_nic = !cluster.node->of_kind(VertexKind::kNic).empty();
    try {
      if (cluster.nodes == 1) const Machine reachable(cluster);
      if (cluster.nodes > 1 && has_nic) cluster.gpu_to_gpu = link_over_nics(cluster);
    } catch (const PlacedError& e) {
      throw InputError(fmt::format("{}: {}", section.file(), e.what()));
    }
  }
  if (section.has("fabric")) {
    cluster.fabric = [section](const FabricUse& use) {
      return Fabrics::instance().make(section, "fabric", use);
    };
    // Reports what is wrong with the section now, and not when the first message is sent.
    cluster.fabric({cluster.nodes, cluster.network.latency, cluster.network.bandwidth});
  }
  const Config messages = section.object("messages", message_params());
  cluster.messages = message_keys().read(messages);
  cluster.fifo_ports = messages.get<std::string>("ports") == "fifo";
}

/// Where NCCL's own section alone says something of the inside, that is used instead; the link is
/// then that of the network. That of a graph is known when it has been read.
Link read_inside(const Config& section, const Cluster& cluster) {
  if (section.has("intra_node"))
    return NetworkKinds::instance().make(section, "intra_node")->link(cluster.gpus_per_node);
  if (cluster.gpus_per_node > 1 && !section.has("node") && !section.has("gpus")) {
    section.fail(
        "intra_node",
        fmt::format("required but missing: the {} GPUs of a node do not have the network's "
                    "speed; presets such as pcie-4, pcie-8, dgx-a100 have their links",
                    cluster.gpus_per_node));
  }
  return cluster.network;
}

/// `of`: who has as many GPUs a node as "gpus" counts.
void check_count(const Config& section, const std::string& of) {
  if (!section.has("gpus")) return;
  const Config gpus = section.object("gpus", gpus_params());
  if (!gpus.has("count")) return;
  const auto count = gpus.get<std::int64_t>("count");
  if (const auto used = section.get<std::int64_t>("gpus_per_node"); used > count) {
    section.fail("gpus_per_node", fmt::format("expected at most {}, as many GPUs as {} has, got {}",
                                              count, of, used));
  }
}

}  // namespace

std::shared_ptr<const NetworkKind> read_network(const Config& section) {
  if (section.has("preset")) {
    return read_over(section, preset_of(section),
                     [](const Config& full) { return read_network(full); });
  }
  return NetworkKinds::instance().make(section, "network");
}

Cluster read_cluster(const Config& section) {
  return read_cluster(section, read_network(section));
}

Cluster read_cluster(const Config& section, std::shared_ptr<const NetworkKind> network) {
  if (section.has("preset")) {
    const Preset preset = preset_of(section);
    Cluster cluster = read_over(section, preset, [&](const Config& full) {
      check_count(full, section.get<std::string>("preset"));
      return read_cluster(full, network);
    });
    cluster.profile = preset.profile;
    return cluster;
  }
  Cluster cluster{.nodes = section.get<std::int64_t>("nodes"),
                  .gpus_per_node = section.get<std::int64_t>("gpus_per_node")};
  cluster.kind = std::move(network);
  cluster.network = cluster.kind->link(cluster.nodes);
  cluster.intra_node = read_inside(section, cluster);
  if (section.has("intra_node_beside_kernels"))
    cluster.intra_node_beside_kernels = section.get<double>("intra_node_beside_kernels");
  cluster.reduction = section.get<TimePerByte>("reduction");
  read_graph(section, cluster);
  // Where GPUs do not reach each other, which is refused when messages are played, the network's.
  if (cluster.node && cluster.gpus_per_node > 1 && !section.has("intra_node"))
    cluster.intra_node =
        gpu_ring(*cluster.node, cluster.metric, cluster.gpus_per_node).value_or(cluster.network);
  if (section.has("gpus")) {
    check_count(section, "a node");
    cluster.gpus = read_gpus(section.object("gpus", gpus_params()), cluster.gpus_per_node);
  }
  return cluster;
}

Json resolved_preset(const Json& section) {
  const auto name = section.find("preset");
  if (name == section.end() || !name->is_string()) return section;
  const auto preset = presets().find(name->get<std::string>());
  if (preset == presets().end()) return section;
  preset->second.file->use();
  return merged(section, preset->second.preset.cluster);
}

Json with_preset(const Config& section) {
  return section.has("preset") ? merged(section.node(), preset_of(section).cluster)
                               : section.node();
}

std::vector<std::pair<std::string, std::string>> cluster_presets() {
  std::vector<std::pair<std::string, std::string>> list;
  for (const auto& [name, preset] : presets())
    list.emplace_back(name, preset.preset.help);
  return list;
}

}  // namespace steptime
