#include "sim/layouts/group_collectives.h"

#include "sim/core/error.h"
#include "sim/servers/transport.h"
#include "tests/support/config_text.h"
#include "tests/support/layouts.h"

#include <memory>
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

GroupCosts ring_of(const Cluster& cluster, const std::vector<std::int32_t>& ranks,
                   std::int64_t on_an_adapter = 1) {
  const auto backend = make<Backend>(R"({"type": "device"})");
  return group_costs(config_of("{}", strategy_keys()), *backend, cluster, ranks, on_an_adapter);
}

// Of two GPUs inside a node a ring all-reduce of M bytes takes M / B: two halves, there and back.
TEST(GroupCosts, AGroupInsideANodeUsesItsLinksOnly) {
  const GroupCosts costs = ring_of(two_nodes(8), {0, 1});
  EXPECT_DOUBLE_EQ(to_seconds(costs.all_reduce->time({1'000'000'000})), 0.1);
  EXPECT_DOUBLE_EQ(to_seconds(costs.all_gather->time({1'000'000'000})), 0.05);
  EXPECT_DOUBLE_EQ(to_seconds(costs.reduce_scatter->time({1'000'000'000})), 0.05);
  EXPECT_DOUBLE_EQ(to_seconds(costs.send->time({1'000'000'000})), 0.1);
}

// Eight groups through one adapter have an eighth of it each.
TEST(GroupCosts, GroupsOfANodeShareItsAdapters) {
  const auto seconds = [](std::int64_t on_an_adapter) {
    return to_seconds(ring_of(two_nodes(1), {0, 8}, on_an_adapter).send->time({1'000'000'000}));
  };
  EXPECT_DOUBLE_EQ(seconds(8), 8);
  EXPECT_DOUBLE_EQ(seconds(1), 1);
}

// Sixteen ranks in two nodes, as groups of one GPU a node: eight on one adapter, one on each of
// eight. In four groups of two GPUs a node, 0 and 4, 1 and 5, ..., all leave the node through the
// second of two adapters.
TEST(PlaceGroups, GroupsOfAKindShareTheAdaptersThatTheyAreNearestTo) {
  const auto seconds = [](std::int64_t adapters, std::int32_t tensor) {
    const TestLayout test{.degrees = {tensor, 1, 16 / tensor, 1},
                          .cluster = std::make_shared<Cluster>(two_nodes(adapters))};
    const LayoutPlan plan = plan_of(test, work_of_blocks(1, {1, 1, 1}));
    return to_seconds(plan.costs(GroupKind::kShards).send->time({1'000'000'000}));
  };
  EXPECT_DOUBLE_EQ(seconds(1, 8), 8);
  EXPECT_DOUBLE_EQ(seconds(8, 8), 1);
  EXPECT_DOUBLE_EQ(seconds(2, 4), 4);
}

// Places of a pipeline that are neighbours in a node use its links: with two ranks each in nodes of
// four, from the first place to the second and from the third to the fourth; else the network,
// whose one adapter two ranks share.
TEST(PlaceGroups, NeighboursOfAPipelineInANodeUseItsLinks) {
  Cluster cluster = two_nodes(1);
  cluster.gpus_per_node = 4;
  const LayoutPlan plan =
      plan_of({.degrees = {2, 1, 1, 4}, .cluster = std::make_shared<Cluster>(cluster)},
              work_of_blocks(4, {1, 1, 1}));
  for (std::int32_t place = 0; place < 4; ++place) {
    EXPECT_EQ(plan.hop(place).between_nodes, place % 2 == 1);
    EXPECT_DOUBLE_EQ(to_seconds(plan.hop(place).send->time({1'000'000'000})),
                     place % 2 == 1 ? 2 : .1);
  }
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

// Two replicas of three places, with three GPUs a node: the first place's are ranks 0 and 1, on one
// node, the second's 2 and 3, on two. One place's times do not stand for the other's.
TEST(PlaceGroups, RefusesGroupsThatLieOnNodesUnlikeEachOther) {
  Cluster cluster = two_nodes(1);
  cluster.gpus_per_node = 3;
  std::string error;
  try {
    plan_of({.degrees = {1, 1, 2, 3}, .cluster = std::make_shared<Cluster>(cluster)},
            work_of_blocks(3, {1, 1, 1}));
  } catch (const InputError& e) {
    error = e.what();
  }
  EXPECT_EQ(error,
            "x.json: /layout: the shards group of rank 2 has 1 + 1 ranks on its nodes and that of "
            "rank 0 has 2; expected degrees that divide nodes of 3 GPUs evenly");
}

// Shard groups of two among four replicas, with four GPUs a node: 0 and 1, 2 and 3.
TEST(PlaceGroups, TakesShardGroupsThatDivideNodes) {
  Cluster cluster = two_nodes(1);
  cluster.gpus_per_node = 4;
  const LayoutPlan plan = plan_of({.degrees = {1, 1, 8, 1},
                                   .states = R"({"type": "fsdp", "shard_group": 2})",
                                   .cluster = std::make_shared<Cluster>(cluster)},
                                  work_of_blocks(1, {1, 1, 1}));
  EXPECT_DOUBLE_EQ(to_seconds(plan.costs(GroupKind::kShards).send->time({1'000'000'000})), .1);
}

}  // namespace
}  // namespace steptime
