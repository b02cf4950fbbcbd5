#include "sim/config/data_dir.h"
#include "sim/servers/sharding.h"
#include "tests/support/config_text.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(GreedySharding, TakesTheLeastLoadedServerInTheGivenOrder) {
  const auto sharding = make<Sharding>(R"({"type": "greedy"})");
  // Loads before each key: 0/0, 3/0, 3/4, 5/4, 5/5 (equal: the lower number).
  EXPECT_EQ(sharding->shards(std::vector<std::int64_t>{3, 4, 2, 1, 9}, 2),
            (std::vector<Shard>{{0, 0, 3}, {1, 1, 4}, {2, 0, 2}, {3, 1, 1}, {4, 0, 9}}));
}

// MXNet takes the last among equals of an unordered_map's iteration. libstdc++'s goes 15 14 13 0 1
// ... 12 over 16 GPUs, as its buckets grow from 13 to 29 with the fourteenth, and down to 0 over
// 13; over 30, with the thirtieth in 59 buckets, 29 12 11 ... 0 13 14 ... 28.
TEST(GreedySharding, AmongEqualGpusTheLastOfAHashMap) {
  const auto sharding = make<Sharding>(R"({"type": "greedy", "order": "largest-first"})");
  const auto placed = [&](std::int64_t gpus) {
    std::vector<std::int32_t> order;
    for (const Shard& shard :
         sharding->shards(std::vector<std::int64_t>(static_cast<std::size_t>(gpus), 1), gpus))
      order.push_back(shard.server);
    return order;
  };
  using Gpus = std::vector<std::int32_t>;
  EXPECT_EQ(placed(8), (Gpus{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(placed(13), (Gpus{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(placed(16), (Gpus{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 13, 14, 15}));
  const Gpus thirty = placed(30);
  EXPECT_EQ(thirty.front(), 28);
  EXPECT_EQ(thirty[15], 13);
  EXPECT_EQ(thirty[16], 0);
  EXPECT_EQ(thirty.back(), 29);
}

// tests/data/commdevice_merge_buffers.json: loads of MXNet's device kvstore, where only their
// multiset is defined, because the order of equal keys is not.
TEST(GreedySharding, KnownLoadsOfMergeBuffers) {
  const auto sharding = make<Sharding>(R"({"type": "greedy", "order": "largest-first"})");
  const std::string file = std::string(STEPTIME_TESTS_DIR) + "/data/commdevice_merge_buffers.json";
  const Json answers = parse_json(read_file(file), file);
  ASSERT_FALSE(answers.at("cases").empty());
  for (const Json& one : answers.at("cases")) {
    const auto model = one.at("model").get<std::string>();
    const std::string table_file = (data_dir() / "models" / (model + ".json")).string();
    std::vector<std::int64_t> elements;
    const Json table = parse_json(read_file(table_file), table_file);
    for (const Json& layer : table.at("layers")) {
      for (const Json& tensor : layer.value("tensors", Json::array()))
        elements.push_back(tensor.at("params").get<std::int64_t>());
    }
    std::vector<std::int64_t> loads(one.at("gpus").get<std::size_t>());
    for (const Shard& shard : sharding->shards(elements, static_cast<std::int64_t>(loads.size())))
      loads[static_cast<std::size_t>(shard.server)] += shard.elements;
    std::sort(loads.begin(), loads.end(), std::greater<>());
    EXPECT_EQ(Json(loads), one.at("sorted_loads_elements")) << model << " on " << loads.size();
  }
}

}  // namespace
}  // namespace steptime
