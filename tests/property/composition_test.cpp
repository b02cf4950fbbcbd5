// Every embedding with every schedule, collective and fidelity is a legal question.
#include "sim/config/data_dir.h"
#include "sim/core/error.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"

#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

Result run(const std::string& embedding, const std::string& schedule, const std::string& collective,
           const std::string& fidelity) {
  const auto document = std::make_shared<Document>(Document{
      (data_dir() / "configs" / "x.json").string(),
      parse_json(
          fmt::format(
              R"({{"name": "x", "workload": {{"model": "mxnet/alexnet", "device": "p100", "batch": 32}},
                   "cluster": {{"preset": "minsky", "nodes": 2}},
                   "strategy": {{"embedding": {{"type": "{}"}}, "schedule": {{"type": "{}"}},
                                 "aggregation": {{"type": "all-reduce",
                                                  "collective": {{"type": "{}"}}}}}},
                   "run": {{"fidelity": "{}", "steps": 3}}}})",
              embedding, schedule, collective, fidelity),
          "x.json")});
  return simulate(read_experiment(document));
}

TEST(Composition, EveryEmbeddingScheduleCollectiveAndFidelity) {
  for (const char* embedding : {"async", "naive", "funnel", "concum", "depcha"}) {
    for (const char* schedule :
         {"wfbp", "naive", "sync-easgd", "fixed-buckets", "mg-wfbp", "optimal"}) {
      for (const char* collective :
           {"ring", "multi-ring", "binary-tree", "double-binary-tree", "recursive-doubling",
            "halving-doubling", "hierarchical", "tensor", "nccl", "openmpi"}) {
        const std::string name = collective;
        const bool has_messages = name != "nccl" && name != "openmpi";
        for (const char* fidelity : {"analytic", "message"}) {
          if (!has_messages && std::string(fidelity) == "message") {
            EXPECT_THROW(run(embedding, schedule, collective, fidelity), InputError) << name;
            continue;
          }
          const Result r = run(embedding, schedule, collective, fidelity);
          // No step is shorter than its compute.
          EXPECT_GE(r.step_time_s, r.compute_time_s * (1 - 1e-12))
              << embedding << ' ' << schedule << ' ' << name << ' ' << fidelity;
          EXPECT_GT(r.messages, 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace steptime
