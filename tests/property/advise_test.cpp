// advise() against a search that tries every option of its grid one by one, on networks of real
// size: no other option of any system may be better than what it names, and none may be left out.
#include "sim/sweeps/advise.h"

#include "sim/config/data_dir.h"
#include "sim/core/error.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/runs/execution_of.h"
#include "sim/experiment/simulate.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Every option of every system.
std::map<std::string, std::vector<Json>> schedules() {
  std::map<std::string, std::vector<Json>> all;
  for (const char* type : {"wfbp", "sync-easgd", "mg-wfbp", "optimal"})
    all["any"].push_back({{"type", type}});
  for (const int mib : {1, 2, 4, 8, 12, 16, 25, 35, 50, 75, 100, 200, 400}) {
    all["PyTorch DDP"].push_back({{"type", "fixed-buckets"},
                                  {"capacity", fmt::format("{} MiB", mib)},
                                  {"granularity", "tensor"}});
  }
  for (const int mib : {0, 1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    for (const double ms : {0.5, 1., 2.5, 5., 10., 25.}) {
      all["Horovod"].push_back({{"type", "tensor-fusion"},
                                {"threshold", fmt::format("{} MiB", mib)},
                                {"cycle", fmt::format("{} ms", ms)}});
    }
  }
  for (const int mb : {1, 2, 4, 8, 16, 32}) {
    for (const int at_once : {1, 4}) {
      all["ByteScheduler"].push_back({{"type", "priority"},
                                      {"partition", fmt::format("{} MB", mb)},
                                      {"credit", fmt::format("{} MB", mb * at_once)}});
    }
  }
  return all;
}

/// Every way that gradients can go: NCCL inside a node, servers between nodes.
std::vector<Json> aggregations(std::int64_t nodes) {
  std::vector<Json> all;
  for (const char* type : {"ring", "halving-doubling", "recursive-doubling", "double-binary-tree",
                           "hierarchical", "nccl"}) {
    if (nodes > 1 && std::string(type) == "nccl") continue;
    all.push_back({{"type", "all-reduce"}, {"collective", {{"type", type}}}});
  }
  if (nodes > 1) {
    all.push_back(
        {{"type", "parameter-server"}, {"servers", nodes}, {"placement", "with-workers"}});
  }
  return all;
}

struct Found {
  double step_time_s = 1e9;
  std::size_t tried = 0;
};

/// The best of each system.
std::map<std::string, Found> search(const std::shared_ptr<const Document>& config) {
  const Experiment base = read_experiment(config);
  std::map<std::string, Found> best;
  for (const Json& aggregation : aggregations(base.cluster->nodes)) {
    for (const auto& [system, options] : schedules()) {
      for (const Json& schedule : options) {
        auto changed = std::make_shared<Document>(*config);
        changed->root["strategy"] = {{"aggregation", aggregation}, {"schedule", schedule}};
        try {
          Experiment experiment = base;
          for (const Part part : {Part::kTransport, Part::kCollective, Part::kSchedule})
            read_part(changed, part, experiment);
          complete(experiment, [&] { return changed; });
          const double time = simulate(experiment).step_time_s;
          best[system].step_time_s = std::min(best[system].step_time_s, time);
          ++best[system].tried;
        } catch (const InputError&) {  // not on this cluster
        }
      }
    }
  }
  return best;
}

std::shared_ptr<const Document> config_of(const std::string& workload, const std::string& cluster) {
  const std::string file = (data_dir() / "configs" / "advised.json").string();
  const std::string json =
      fmt::format(R"({{"name": "advised", "workload": {}, "cluster": {}}})", workload, cluster);
  return std::make_shared<Document>(Document{file, parse_json(json, file)});
}

void expect_equal(const std::shared_ptr<const Document>& config) {
  const Advice advice = advise(config);
  const auto best = search(config);
  ASSERT_EQ(advice.best.size(), best.size());
  std::size_t tried = 0;
  for (const Advised& advised : advice.best) {
    ASSERT_TRUE(best.contains(advised.system)) << advised.system;
    EXPECT_EQ(advised.step_time_s, best.at(advised.system).step_time_s) << advised.system;
    tried += best.at(advised.system).tried;
  }
  EXPECT_EQ(advice.tried, tried);
}

constexpr const char* kResNet50 = R"({"model": "resnet50", "device": "v100", "batch": 32})";
constexpr const char* kBertBase = R"({"model": "bert-base", "device": "v100", "batch": 8})";
constexpr const char* kEightNodes = R"({"nodes": 8, "network": {
    "type": "switch", "latency": "20 us", "bandwidth": "10 Gbps"}})";
constexpr const char* kOneNode = R"({"preset": "dgx-1-v100", "nodes": 1, "gpus_per_node": 8})";

TEST(Advise, EqualsASearchOfAllOptionsForResNet50) {
  expect_equal(config_of(kResNet50, kEightNodes));
  expect_equal(config_of(kResNet50, kOneNode));
}

TEST(Advise, EqualsASearchOfAllOptionsForBertBase) {
  expect_equal(config_of(kBertBase, kEightNodes));
  expect_equal(config_of(kBertBase, kOneNode));
}

}  // namespace
}  // namespace steptime
