#include "sim/core/error.h"
#include "tests/support/fabric.h"

#include <set>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// radix 4: 16 hosts, 2 per edge switch, 4 per pod.
const char* const kFabric = R"({"type": "fat-tree", "radix": 4, "hop_latency": "7 ps"})";

TEST(FatTree, RoutesAreAsLongAsTheyNeedToBe) {
  const auto fabric = make_fabric(kFabric, 16);
  EXPECT_EQ(fabric->ports(), 16);
  EXPECT_EQ(route(*fabric, 0, 1).size(), 2U);   // one edge switch
  EXPECT_EQ(route(*fabric, 0, 2).size(), 4U);   // one pod
  EXPECT_EQ(route(*fabric, 0, 15).size(), 6U);  // over the core
  EXPECT_TRUE(routes_are_simple(*fabric, 16));
}

TEST(FatTree, LinksBetweenSwitchesAddLatency) {
  const auto fabric = make_fabric(kFabric, 16);
  Duration sum{};
  for (const ChannelId c : route(*fabric, 0, 15))
    sum += fabric->channels()[c].latency;
  EXPECT_EQ(sum, kPortLatency + 4 * Duration(7));
}

TEST(FatTree, ShiftsDoNotCollide) {
  // Every host sends to the host one pod further on: full bisection, so that no channel is used
  // twice.
  const auto fabric = make_fabric(kFabric, 16);
  std::set<ChannelId> used;
  for (std::int64_t h = 0; h < 16; ++h) {
    for (const ChannelId c : route(*fabric, h, (h + 4) % 16))
      EXPECT_TRUE(used.insert(c).second) << h;
  }
}

TEST(FatTree, RefusesMoreHostsThanItHas) {
  try {
    make_fabric(kFabric, 17);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "x.json: /fabric/radix: 16 hosts at most, but 17 are needed");
  }
}

}  // namespace
}  // namespace steptime
