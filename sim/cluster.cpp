#include "sim/cluster.h"

#include "sim/data_dir.h"
#include "sim/error.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
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
      {.key = "cluster", .kind = Kind::kObject, .help = "as in an experiment"}};
  return params;
}

struct Preset {
  std::string help;
  Json cluster;
};

/// The shipped presets by name, read once.
const std::map<std::string, Preset>& presets() {
  static const std::map<std::string, Preset> all = [] {
    std::map<std::string, Preset> read;
    for (const auto& entry :
         std::filesystem::directory_iterator(data_dir() / "netmodels" / "presets")) {
      if (entry.path().extension() != ".json") continue;
      const std::string file = entry.path().string();
      const Config preset(
          std::make_shared<Document>(Document{file, parse_json(read_file(file), file)}),
          preset_params());
      read[entry.path().stem().string()] = {preset.get<std::string>("help"),
                                            preset.object("cluster", cluster_params()).node()};
    }
    return read;
  }();
  return all;
}

/// The section with the preset's keys beneath its own, as a document of its own.
Config over_preset(const Config& section) {
  const auto name = section.get<std::string>("preset");
  const auto preset = presets().find(name);
  if (preset == presets().end()) {
    std::vector<std::string> known;
    for (const auto& [each, unused] : presets())
      known.push_back(each);
    section.fail("preset", fmt::format("unknown {}; known: {}", brief(section.raw("preset")),
                                       fmt::join(known, ", ")));
  }
  Json merged = preset->second.cluster;
  for (const auto& [key, value] : section.node().items()) {
    if (key != "preset") merged[key] = value;
  }
  // Same pointers as in the experiment, so that a message about an override is right.
  static const Params wrapper{{.key = "cluster", .kind = Kind::kObject}};
  return Config(std::make_shared<Document>(Document{section.file(), Json{{"cluster", merged}}}),
                wrapper)
      .object("cluster", cluster_params());
}

}  // namespace

const Params& cluster_params() {
  static const Params params{
      {.key = "preset",
       .kind = Kind::kText,
       .help = "a shipped machine; other keys override it",
       .need = Need::kOptional},
      {.key = "nodes", .kind = Kind::kInteger, .range = {.low = 1, .high = kMostNodes}},
      {.key = "gpus_per_node",
       .kind = Kind::kInteger,
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 1, .high = kMostGpusPerNode}},
      {.key = "network", .kind = Kind::kObject, .help = "between nodes", .choice = Network::kNoun},
      {.key = "intra_node",
       .kind = Kind::kObject,
       .help = "between the GPUs of a node; default: as \"network\"",
       .need = Need::kOptional,
       .choice = Network::kNoun},
      {.key = "reduction",
       .kind = Kind::kTimePerByte,
       .help = "gamma, the time to add one more byte of gradients",
       .need = Need::kDefault,
       .fallback = "0 s/B",
       .range = kNotNegative},
      {.key = "gpus",
       .kind = Kind::kObject,
       .help = "what the GPUs are and what joins them, for NCCL",
       .need = Need::kOptional}};
  return params;
}

Cluster read_cluster(const Config& section) {
  if (section.has("preset")) return read_cluster(over_preset(section));
  Cluster cluster{.nodes = section.get<std::int64_t>("nodes"),
                  .gpus_per_node = section.get<std::int64_t>("gpus_per_node")};
  cluster.network = Networks::instance().make(section, "network")->link(cluster.nodes);
  cluster.intra_node =
      section.has("intra_node")
          ? Networks::instance().make(section, "intra_node")->link(cluster.gpus_per_node)
          : cluster.network;
  cluster.reduction = section.get<TimePerByte>("reduction");
  if (section.has("gpus")) {
    cluster.gpus = read_gpus(section.object("gpus", gpus_params()), cluster.gpus_per_node);
  }
  return cluster;
}

std::vector<std::pair<std::string, std::string>> cluster_presets() {
  std::vector<std::pair<std::string, std::string>> list;
  for (const auto& [name, preset] : presets())
    list.emplace_back(name, preset.help);
  return list;
}

}  // namespace steptime
