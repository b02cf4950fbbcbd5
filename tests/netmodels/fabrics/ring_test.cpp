#include "tests/support/fabric.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(RingFabric, TakesTheShorterWay) {
  const auto fabric = make_fabric(R"({"type": "ring"})", 5);
  EXPECT_EQ(route(*fabric, 4, 1), (std::vector<ChannelId>{4, 0}));
  EXPECT_EQ(route(*fabric, 1, 4), (std::vector<ChannelId>{5 + 1, 5 + 0}));
  EXPECT_EQ(fabric->channels()[0].latency, kPortLatency);
  EXPECT_TRUE(routes_are_simple(*fabric, 5));
}

TEST(RingFabric, GoesUpwardsWhenBothWaysAreEqual) {
  const auto fabric = make_fabric(R"({"type": "ring"})", 4);
  EXPECT_EQ(route(*fabric, 3, 1), (std::vector<ChannelId>{3, 0}));
}

}  // namespace
}  // namespace steptime
