// advise() against a search that tries every option of its grid one by one, on networks of real
// size: no other option of any system may be better than what it names, and none may be left out.
#include "sim/sweeps/advise.h"

#include "sim/config/data_dir.h"
#include "sim/core/error.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
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

/// A schedule, under a coordinator's cycle where there is one.
struct Option {
  Json schedule;
  Json coordinator{};
};

/// Every option of every system.
std::map<std::string, std::vector<Option>> schedules() {
  std::map<std::string, std::vector<Option>> all;
  for (const char* type : {"wfbp", "sync-easgd", "mg-wfbp", "optimal"})
    all["any"].push_back({Json{{"type", type}}});
  for (const int mib : {1, 2, 4, 8, 12, 16, 25, 35, 50, 75, 100, 200, 400}) {
    all["PyTorch DDP"].push_back({Json{{"type", "fixed-buckets"},
                                       {"capacity", fmt::format("{} MiB", mib)},
                                       {"granularity", "tensor"}}});
  }
  for (const int mib : {0, 1, 2, 4, 8, 16, 32, 64, 128, 256}) {
    for (const double ms : {0.5, 1., 2.5, 5., 10., 25.}) {
      all["Horovod"].push_back({Json{{"type", "tensor-fusion"},
                                     {"threshold", fmt::format("{} MiB", mib)},
                                     {"cycle", "0 s"}},
                                Json{{"type", "horovod"}, {"cycle", fmt::format("{} ms", ms)}}});
    }
  }
  for (const int mb : {1, 2, 4, 8, 16, 32}) {
    for (const int at_once : {1, 4}) {
      all["ByteScheduler"].push_back({Json{{"type", "priority"},
                                           {"partition", fmt::format("{} MB", mb)},
                                           {"credit", fmt::format("{} MB", mb * at_once)}}});
    }
  }
  return all;
}

/// Every way that the gradients of a system can go where the config has a ring: PyTorch and
/// ByteScheduler over that or NCCL, Horovod over MPI, too, and servers between nodes.
std::vector<Json> aggregations(const std::string& system, std::int64_t nodes) {
  std::vector<const char*> types{"ring", "nccl"};
  if (system == "any" || system == "Horovod")
    types.insert(types.end(), {"halving-doubling", "recursive-doubling"});
  if (system == "any") types.insert(types.end(), {"double-binary-tree", "hierarchical"});
  std::vector<Json> all;
  for (const char* type : types)
    all.push_back({{"type", "all-reduce"}, {"collective", {{"type", type}}}});
  if (nodes > 1 && (system == "any" || system == "ByteScheduler")) {
    all.push_back(
        {{"type", "parameter-server"}, {"servers", nodes}, {"placement", "with-workers"}});
  }
  return all;
}

Json strategy_of(const Json& aggregation, const Option& option) {
  const bool is_nccl =
      aggregation.contains("collective") && aggregation["collective"]["type"] == "nccl";
  Json transport = {{"type", is_nccl ? "nccl" : "mpi"}};
  if (!option.coordinator.is_null()) {
    transport = {{"type", is_nccl ? "horovod-nccl" : "horovod-mpi"},
                 {"coordinator", option.coordinator}};
  }
  return {{"aggregation", aggregation}, {"schedule", option.schedule}, {"transport", transport}};
}

struct Found {
  double step_time_s = 1e9;
  std::size_t tried = 0;
};

/// The best of each system.
std::map<std::string, Found> search(const std::shared_ptr<const Document>& config) {
  const Experiment base = read_experiment(config);
  std::map<std::string, Found> best;
  for (const auto& [system, options] : schedules()) {
    for (const Json& aggregation : aggregations(system, base.cluster->nodes)) {
      for (const Option& option : options) {
        auto changed = std::make_shared<Document>(*config);
        changed->root["strategy"] = strategy_of(aggregation, option);
        try {
          const double time = simulate(read_experiment(changed)).step_time_s;
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
  const std::string json = fmt::format(
      R"({{"name": "advised", "workload": {}, "cluster": {}, "strategy": {{"aggregation":
          {{"type": "all-reduce", "collective": {{"type": "ring"}}}}}}}})",
      workload, cluster);
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

constexpr const char* kResNet50 = R"({"model": "resnet50", "device": "v100", "batch": 32,
    "overlap": {"type": "none"}})";
constexpr const char* kBertBase = R"({"model": "bert-base", "device": "v100", "batch": 8,
    "overlap": {"type": "none"}})";
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
