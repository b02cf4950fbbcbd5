// Is it told how many adapters collectives used?
#include "sim/experiment/used_path.h"

#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"

#include <memory>
#include <string>
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

TEST(UsedPath, ServersHaveNone) {
  EXPECT_EQ(
      path_text(path(R"("aggregation": {"type": "parameter-server", "servers": 2})", "analytic")),
      "");
}

}  // namespace
}  // namespace steptime
