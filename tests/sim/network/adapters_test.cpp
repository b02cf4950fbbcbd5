#include "sim/network/adapters.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

Cluster two_nodes(std::int64_t nics) {
  Cluster cluster;
  cluster.nodes = 2;
  cluster.gpus_per_node = 8;
  cluster.gpus.emplace().nics = nics;
  return cluster;
}

TEST(Adapters, GpusUseTheNearestInOrder) {
  EXPECT_EQ(adapters_of(two_nodes(4)), 4);
  EXPECT_EQ(adapters_of(Cluster{}), 1);
  EXPECT_EQ(adapter_of(two_nodes(4), 1), 0);
  EXPECT_EQ(adapter_of(two_nodes(4), 2), 1);
  EXPECT_EQ(adapter_of(two_nodes(1), 7), 0);
  EXPECT_EQ(adapter_of(two_nodes(16), 7), 14);
}

// GPUs in groups of two neighbours: four groups on one adapter, two on each of two, one on each of
// four or eight. Only those of even GPUs: half as many.
TEST(Adapters, ThingsOfNeighboursMeetOnOne) {
  const auto pairs = [](std::int64_t nics) {
    return most_on_an_adapter(two_nodes(nics), 1, [](std::int32_t rank) { return rank / 2; });
  };
  EXPECT_EQ(pairs(1), 4);
  EXPECT_EQ(pairs(2), 2);
  EXPECT_EQ(pairs(4), 1);
  EXPECT_EQ(pairs(8), 1);
  EXPECT_EQ(most_on_an_adapter(two_nodes(1), 0,
                               [](std::int32_t rank) { return rank % 2 == 0 ? rank : -1; }),
            4);
}

}  // namespace
}  // namespace steptime
