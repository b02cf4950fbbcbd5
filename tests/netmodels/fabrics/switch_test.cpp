#include "tests/support/fabric.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(SwitchFabric, OccupiesOnePortOutAndOneIn) {
  const auto fabric = make_fabric(R"({"type": "switch"})", 4);
  EXPECT_EQ(fabric->channels().size(), 8U);
  EXPECT_EQ(route(*fabric, 1, 3), (std::vector<ChannelId>{1, 7}));
  EXPECT_EQ(fabric->channels()[1].latency + fabric->channels()[7].latency, kPortLatency);
  EXPECT_EQ(fabric->channels()[7].bandwidth, kPortBandwidth);
  EXPECT_TRUE(routes_are_simple(*fabric, 4));
}

}  // namespace
}  // namespace steptime
