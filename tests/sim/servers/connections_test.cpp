#include "sim/servers/connections.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Requests = std::vector<std::uint32_t>;

TEST(Connections, ARequestFollowsThePushesBeforeIt) {
  Connections lines(2, 2);
  lines.push(1, 0);
  lines.push(1, 0);
  EXPECT_EQ(lines.deliver(1, 0), Requests{});
  EXPECT_TRUE(lines.holds(1, 0, 7));
  EXPECT_TRUE(lines.holds(1, 0, 8));
  lines.push(1, 0);
  EXPECT_TRUE(lines.holds(1, 0, 9));
  EXPECT_EQ(lines.deliver(1, 0), (Requests{7, 8}));
  EXPECT_EQ(lines.deliver(1, 0), Requests{9});
  EXPECT_FALSE(lines.holds(1, 0, 10));  // nothing is on its way
}

TEST(Connections, OthersDoNotWait) {
  Connections lines(2, 2);
  lines.push(0, 0);
  EXPECT_FALSE(lines.holds(0, 1, 1));
  EXPECT_FALSE(lines.holds(1, 0, 1));
  EXPECT_TRUE(lines.holds(0, 0, 1));
}

}  // namespace
}  // namespace steptime
