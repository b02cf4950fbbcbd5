// Is it told how many adapters collectives used?
#include "sim/experiment/used_path.h"

#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Two DGX-1 with four adapters each.
CollectivePath path(const std::string& strategy, const std::string& fidelity,
                    const std::string& cluster = "") {
  const Experiment experiment = read_experiment(std::make_shared<Document>(Document{
      "x.json", Json::parse(fmt::format(
                    R"({{"name": "x", "workload": {{"trace": "{}/traces/k80/googlenet.json"}},
                        "cluster": {{"preset": "dgx-1-v100", "nodes": 2{}}},
                        "strategy": {{{}}}, "run": {{"fidelity": "{}"}}}})",
                    STEPTIME_SOURCE_DIR, cluster, strategy, fidelity))}));
  std::vector<SentBucket> buckets;  // who asks for them gets the links, too
  return used_path(experiment, simulate(experiment, &buckets));
}

TEST(UsedPath, NcclKnowsItsRingsAndAdapters) {
  const std::string nccl = R"("transport": "nccl")";
  EXPECT_EQ(path_text(path(nccl, "analytic")),
            "6 rings over NVLink, 4 adapters a node (NCCL 2.12.12 by the rules of 2.12.12)");
  EXPECT_EQ(path(nccl, "analytic", R"(, "gpus": {"nics": 1})").adapters, 1);
  EXPECT_EQ(path(nccl, "analytic", R"(, "gpus": {"nics": 2})").adapters, 2);
}

/// A ring leaves a node by the adapter of its last GPU and enters by that of its first one; with
/// recursive doubling each pair of GPUs uses its own. With one adapter all take it.
TEST(UsedPath, MessagesAreCountedWhereTheyWent) {
  const std::string doubling =
      R"("aggregation": {"type": "all-reduce", "collective": "recursive-doubling"})";
  EXPECT_EQ(path("", "message").adapters, 2);
  EXPECT_EQ(path(doubling, "message").adapters, 4);
  EXPECT_EQ(path(doubling, "message", R"(, "gpus": {"nics": 1})").adapters, 1);
  // A closed form of no library knows none.
  EXPECT_EQ(path("", "analytic").adapters, 0);
}

/// Adapters of a node: as a config has them, and as many as the collective takes; 0: it does not
/// know, or nothing leaves the node.
struct Adapters {
  std::int64_t said = 0;
  std::int64_t used = 0;
};

Adapters adapters_of(const std::shared_ptr<const Document>& document) {
  const Experiment e = read_experiment(document);
  const auto* known =
      e.aggregation ? dynamic_cast<const HasPath*>(e.aggregation->inside.get()) : nullptr;
  if (known == nullptr || e.cluster->nodes == 1 || !e.cluster->gpus) return {};
  const std::int64_t of_graph =
      e.cluster->node ? std::ssize(e.cluster->node->of_kind(VertexKind::kNic)) : 1;
  return {e.cluster->gpus->nics > 0 ? e.cluster->gpus->nics : of_graph, known->path().adapters};
}

/// The file's own experiment, and that of each of its figures that is of a step.
std::vector<std::pair<std::string, std::shared_ptr<const Document>>> experiments_of(
    const std::string& file) {
  std::vector<std::pair<std::string, std::shared_ptr<const Document>>> all;
  const auto document = load_document(file, {});
  all.emplace_back(document->root.value("name", file), document);
  const Json claims = document->root.value("claims", Json::object());
  for (const Json& figure : claims.value("figures", Json::array())) {
    const Json measure = figure.value("measure", Json::object());
    // Of a collective by itself, or a table of them, there is no experiment.
    if (measure.empty() || measure.contains("bytes") || measure.contains("measured")) continue;
    auto changed = std::make_shared<Document>(*document);
    const Json set = measure.value("set", Json::object());
    for (const auto& [pointer, value] : set.items()) {
      Json* place = place_in_experiment(changed->root, pointer);
      if (place != nullptr && !value.is_null()) *place = value;
    }
    all.emplace_back(figure.value("id", ""), changed);
  }
  return all;
}

// A shipped config whose nodes have so many adapters is simulated with as many: the file's own
// experiment and that of each of its figures.
TEST(UsedPath, ShippedConfigsUseTheAdaptersThatTheySay) {
  std::int64_t told = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(STEPTIME_SOURCE_DIR) / "configs")) {
    if (entry.path().extension() != ".json") continue;
    const Json root = Json::parse(std::ifstream(entry.path()));
    if (!root.contains("cluster")) continue;
    for (const auto& [name, document] : experiments_of(entry.path().string())) {
      const Adapters adapters = adapters_of(document);
      if (adapters.used == 0) continue;
      ++told;
      EXPECT_EQ(adapters.used, adapters.said) << entry.path() << ": " << name;
    }
  }
  EXPECT_GT(told, 0);
}

// The key means the same on the command line as in the file.
TEST(UsedPath, AdaptersAreSetFromOutsideAsInAFile) {
  const std::string file = STEPTIME_SOURCE_DIR "/configs/papers/clusters/dlperf-resnet50.json";
  for (const int nics : {1, 2, 4}) {
    const std::vector<std::string> sets{fmt::format("/cluster/gpus/nics={}", nics)};
    const Adapters adapters = adapters_of(load_document(file, sets));
    EXPECT_EQ(adapters.said, nics);
    EXPECT_EQ(adapters.used, nics);
  }
  // Its description says one.
  EXPECT_EQ(adapters_of(load_document(file, {})).used, 1);
}

TEST(UsedPath, ServersHaveNone) {
  EXPECT_EQ(
      path_text(path(R"("aggregation": {"type": "parameter-server", "servers": 2})", "analytic")),
      "");
}

}  // namespace
}  // namespace steptime
