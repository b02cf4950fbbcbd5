#include "sim/core/error.h"
#include "sim/servers/sharding.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(BytePsSharding, PartitionsAreHashedByTheirKeys) {
  const auto sharding = make<Sharding>(R"({"type": "byteps", "partition": 10})");
  EXPECT_EQ(sharding->keys(), KeyKind::kBucket);
  // Keys 0, 1, 2 and 65536. djb2 of one digit c is 5381 * 33 + c = 177573 + c; '0' = 48, and
  // 177621 mod 4 = 1. Of "65536" on 4 servers: 33 = 1 mod 4, so (5381 + 54 + 53 + 53 + 51 + 54) mod
  // 4 = 5646 mod 4 = 2.
  EXPECT_EQ(sharding->shards(std::vector<std::int64_t>{25, 3}, 4),
            (std::vector<Shard>{{0, 1, 10}, {0, 2, 10}, {0, 3, 5}, {1, 2, 3}}));
}

TEST(BytePsSharding, TheFirstKeyCountsEarlierBuffers) {
  const auto sharding = make<Sharding>(R"({"type": "byteps", "first_key": 1})");
  EXPECT_EQ(sharding->shards(std::vector<std::int64_t>{3}, 4), (std::vector<Shard>{{0, 2, 3}}));
}

/// Key 1 where one buffer was declared before, unless the config says of none.
TEST(BytePsSharding, CountsWhatIsDeclaredBeforeUnlessTold) {
  const std::vector<std::int64_t> elements{3};
  const auto shards_of = [&](const char* config) {
    return make<Sharding>(config)->shards_behind(1, elements, 4);
  };
  EXPECT_EQ(shards_of(R"({"type": "byteps"})"), (std::vector<Shard>{{0, 2, 3}}));
  EXPECT_EQ(shards_of(R"({"type": "byteps", "first_key": 0})"), (std::vector<Shard>{{0, 1, 3}}));
}

TEST(BytePsSharding, ABufferHas65536PartitionsAtMost) {
  const auto sharding = make<Sharding>(R"({"type": "byteps", "partition": 1})");
  EXPECT_EQ(sharding->shards(std::vector<std::int64_t>{65536}, 4).size(), 65536U);
  EXPECT_EQ(
      message_of<PlacedError>([&] {
        sharding->shards(std::vector<std::int64_t>{5, 65537}, 4);
      }),
      "/strategy/aggregation/sharding/partition: 65537 elements in partitions of 1 are 65537, "
      "but a key has 16 bits for them");
}

TEST(BytePsSharding, OtherHashes) {
  // naive: (n + i) 9973, and 9973 mod 4 = 1. sdbm of one digit is its code; '0' = 48.
  const std::vector<std::int64_t> keys{25, 3};
  EXPECT_EQ(
      make<Sharding>(R"({"type": "byteps", "partition": 10, "hash": "naive"})")->shards(keys, 4),
      (std::vector<Shard>{{0, 0, 10}, {0, 1, 10}, {0, 2, 5}, {1, 1, 3}}));
  EXPECT_EQ(make<Sharding>(R"({"type": "byteps", "hash": "sdbm"})")
                ->shards(std::vector<std::int64_t>{3}, 4),
            (std::vector<Shard>{{0, 0, 3}}));
}

}  // namespace
}  // namespace steptime
