#include "sim/core/error.h"
#include "tests/support/fabric.h"
#include "tests/support/messages.h"

#include <map>
#include <vector>

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

// A group of 2 rows of 3 routers with one host each:
//    0 - 1 - 2    and 0 - 2, 3 - 5 around
//    |   |   |
//    3 - 4 - 5
const char* const kRows = R"({"type": "dragonfly", "groups": 2, "routers": 6, "rows": 2, "hosts": 1,
                              "local_bandwidth": "2 GB/s", "column_bandwidth": "6 GB/s",
                              "local_latency": "3 ps"})";

TEST(Dragonfly, InAGroupAlongTheRowThenTheColumn) {
  const auto fabric = make_fabric(kRows, 12);
  const auto inner = [&](std::int64_t from, std::int64_t to) {
    std::vector<double> widths;
    for (const ChannelId c : route(*fabric, from, to))
      widths.push_back(fabric->channels()[c].bandwidth.bytes_per_second / 1e9);
    return std::vector<double>(widths.begin() + 1, widths.end() - 1);  // without the two ports
  };
  EXPECT_EQ(inner(0, 2), (std::vector<double>{2}));
  EXPECT_EQ(inner(0, 3), (std::vector<double>{6}));
  EXPECT_EQ(inner(0, 5), (std::vector<double>{2, 6}));
  EXPECT_EQ(inner(5, 0), (std::vector<double>{2, 6}));
  EXPECT_EQ(latency(*fabric, 0, 5), kPortLatency + Duration(3 + 3));
  EXPECT_TRUE(routes_are_simple(*fabric, 12));
}

TEST(Dragonfly, NoTwoRoutersShareALinkOfTheirOwn) {
  // The first inner channel of a route belongs to its first router alone.
  const auto fabric = make_fabric(kRows, 12);
  std::map<ChannelId, std::int64_t> owner;
  for (std::int64_t from = 0; from < 6; ++from) {
    for (std::int64_t to = 0; to < 6; ++to) {
      if (from == to) continue;
      const auto [entry, is_new] = owner.emplace(route(*fabric, from, to)[1], from);
      EXPECT_EQ(entry->second, from) << from << " to " << to;
    }
  }
  EXPECT_EQ(owner.size(), 6U * (2 + 1));  // two others in the row, one in the column
}

TEST(Dragonfly, RefusesMoreHostsThanItHas) {
  EXPECT_THROW(make_fabric(kFabric, 13), InputError);
}

TEST(Dragonfly, RowsDivideTheRouters) {
  EXPECT_EQ(message_of<InputError>([] {
              make_fabric(R"({"type": "dragonfly", "groups": 3, "routers": 6, "rows": 4,
                              "hosts": 2})",
                          12);
            }),
            "x.json: /fabric/rows: expected a divisor of the 6 routers, got 4");
}

}  // namespace
}  // namespace steptime
