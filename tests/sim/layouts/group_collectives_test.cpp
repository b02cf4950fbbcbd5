#include "sim/layouts/group_collectives.h"

#include "sim/core/error.h"
#include "sim/servers/transport.h"
#include "tests/support/config_text.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const Params& strategy_keys() {
  static const Params params{{.key = "aggregation",
                              .kind = Kind::kObject,
                              .need = Need::kDefault,
                              .fallback = Json{{"type", "all-reduce"}},
                              .choice = Aggregation::kNoun},
                             {.key = "layout", .kind = Kind::kAny, .need = Need::kOptional}};
  return params;
}

/// Two nodes of eight GPUs, 1 GB/s between nodes without latency, 10 GB/s inside.
Cluster two_nodes(std::int64_t adapters) {
  Cluster cluster;
  cluster.nodes = 2;
  cluster.gpus_per_node = 8;
  cluster.network = {{}, {1e9}};
  cluster.intra_node = {{}, {10e9}};
  cluster.gpus.emplace().nics = adapters;
  return cluster;
}

GroupCosts ring_of(const Cluster& cluster, const std::vector<std::int32_t>& ranks) {
  const auto backend = make<Backend>(R"({"type": "device"})");
  return group_costs(config_of("{}", strategy_keys()), *backend, cluster, ranks);
}

// Of two GPUs inside a node a ring all-reduce of M bytes takes M / B: two halves, there and back.
TEST(GroupCosts, AGroupInsideANodeUsesItsLinksOnly) {
  const GroupCosts costs = ring_of(two_nodes(8), {0, 1});
  EXPECT_DOUBLE_EQ(to_seconds(costs.all_reduce->time({1'000'000'000})), 0.1);
  EXPECT_DOUBLE_EQ(to_seconds(costs.all_gather->time({1'000'000'000})), 0.05);
  EXPECT_DOUBLE_EQ(to_seconds(costs.reduce_scatter->time({1'000'000'000})), 0.05);
  EXPECT_DOUBLE_EQ(to_seconds(costs.send->time({1'000'000'000})), 0.1);
}

// Eight groups of one GPU a node on one adapter have an eighth of it each: 8 times as long; on
// eight adapters each has its own. Four groups of two GPUs a node on two adapters have half of one
// each.
TEST(GroupCosts, GroupsOfANodeShareItsAdapters) {
  const auto seconds = [](std::int64_t adapters, const std::vector<std::int32_t>& ranks) {
    return to_seconds(ring_of(two_nodes(adapters), ranks).send->time({1'000'000'000}));
  };
  EXPECT_DOUBLE_EQ(seconds(1, {0, 8}), 8);
  EXPECT_DOUBLE_EQ(seconds(8, {0, 8}), 1);
  EXPECT_DOUBLE_EQ(seconds(2, {0, 1, 8, 9}), 2);
}

// ... and no group has all eight adapters of a node, though NCCL would take them.
TEST(ClusterOf, AGroupHasItsPartOfANodesAdapters) {
  const Config strategy = config_of("{}", strategy_keys());
  const std::vector<std::int32_t> ranks{0, 1, 8, 9};
  const Cluster part = cluster_of(strategy, two_nodes(8), ranks);
  EXPECT_EQ(part.nodes, 2);
  EXPECT_EQ(part.gpus_per_node, 2);
  EXPECT_EQ(part.gpus->nics, 2);
}

TEST(ClusterOf, RefusesUnevenGroups) {
  const Config strategy = config_of(R"({"layout": {}})", strategy_keys());
  const std::vector<std::int32_t> ranks{6, 7, 8};
  std::string error;
  try {
    (void)cluster_of(strategy, two_nodes(8), ranks);
  } catch (const InputError& e) {
    error = e.what();
  }
  EXPECT_EQ(error,
            "x.json: /layout: a group has 2 ranks on node 0 and 1 on node 1; expected degrees that "
            "divide nodes of 8 GPUs evenly");
}

}  // namespace
}  // namespace steptime
