#include "sim/network/fabric_rate.h"

#include "tests/support/fabric.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

bool is_like_one_switch(const std::string& fabric, std::int64_t nodes) {
  Cluster cluster{.nodes = nodes, .network = {kPortLatency, kPortBandwidth}};
  cluster.fabric = [fabric](const FabricUse& use) { return make_fabric(fabric, use.ports); };
  return steptime::is_like_one_switch(cluster);
}

TEST(FabricRate, ASwitchIsOneAndSoIsAFatTree) {
  EXPECT_TRUE(is_like_one_switch(R"({"type": "switch"})", 200));
  EXPECT_TRUE(is_like_one_switch(R"({"type": "fat-tree", "radix": 4})", 16));
  EXPECT_TRUE(is_like_one_switch(R"({"type": "fat-tree", "radix": 12})", 432));
  EXPECT_TRUE(steptime::is_like_one_switch({.nodes = 4}));
}

// A port has 1 GB/s and 1 ns.
TEST(FabricRate, LinksThatAreThinSharedOrLongMakeADifference) {
  const std::string tree = R"({"type": "fat-tree", "radix": 4, )";
  EXPECT_FALSE(is_like_one_switch(tree + R"("bandwidth": "0.5 GB/s"})", 16));
  EXPECT_FALSE(is_like_one_switch(tree + R"("hop_latency": "1 ns"})", 16));
  EXPECT_TRUE(is_like_one_switch(tree + R"("hop_latency": "1 ns"})", 2));
  // Of four ports in a ring the second link to the next one but one carries what its own port
  // sends.
  EXPECT_FALSE(is_like_one_switch(R"({"type": "ring"})", 4));
  // One link between any two groups of two hosts.
  EXPECT_FALSE(
      is_like_one_switch(R"({"type": "dragonfly", "groups": 2, "routers": 1, "hosts": 2})", 4));
}

}  // namespace
}  // namespace steptime
