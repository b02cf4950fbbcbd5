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
