#include "sim/error.h"
#include "tests/support/fabric.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// 3 groups of 2 routers of 2 hosts: 12 hosts.
const char* const kFabric = R"({"type": "dragonfly", "groups": 3, "routers": 2, "hosts": 2,
                                "local_latency": "3 ps", "global_latency": "50 ps",
                                "global_bandwidth": "5 GB/s"})";

Duration latency(const Fabric& fabric, std::int64_t from, std::int64_t to) {
  Duration sum{};
  for (const ChannelId c : route(fabric, from, to))
    sum += fabric.channels()[c].latency;
  return sum;
}

TEST(Dragonfly, RoutesAreMinimal) {
  const auto fabric = make_fabric(kFabric, 12);
  EXPECT_EQ(fabric->ports(), 12);
  EXPECT_EQ(route(*fabric, 0, 1).size(), 2U);  // one router
  EXPECT_EQ(route(*fabric, 0, 2).size(), 3U);  // one group
  for (std::int64_t b = 4; b < 12; ++b) {      // local, global, local at most
    EXPECT_GE(route(*fabric, 0, b).size(), 3U);
    EXPECT_LE(route(*fabric, 0, b).size(), 5U);
  }
  EXPECT_TRUE(routes_are_simple(*fabric, 12));
}

TEST(Dragonfly, LinksAddTheirLatency) {
  const auto fabric = make_fabric(kFabric, 12);
  EXPECT_EQ(latency(*fabric, 0, 1), kPortLatency);
  EXPECT_EQ(latency(*fabric, 0, 2), kPortLatency + Duration(3));
  // Group 0 reaches group 1 from router 0; group 1 is reached at its router (0 - 1 - 1 + 3) mod 3
  // mod 2 = 1, the one of hosts 6 and 7.
  EXPECT_EQ(latency(*fabric, 0, 6), kPortLatency + Duration(50));
  EXPECT_EQ(latency(*fabric, 2, 4), kPortLatency + Duration(3 + 50 + 3));
}

TEST(Dragonfly, RefusesMoreHostsThanItHas) {
  EXPECT_THROW(make_fabric(kFabric, 13), InputError);
}

}  // namespace
}  // namespace steptime
