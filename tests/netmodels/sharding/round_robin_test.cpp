#include "sim/servers/sharding.h"
#include "tests/support/config_text.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(RoundRobinSharding, KeysTakeTurns) {
  const auto sharding = make<Sharding>(R"({"type": "round-robin"})");
  EXPECT_EQ(sharding->shards(std::vector<std::int64_t>{5, 2000000, 7}, 2),
            (std::vector<Shard>{{0, 0, 5}, {1, 1, 2000000}, {2, 0, 7}}));
}

}  // namespace
}  // namespace steptime
