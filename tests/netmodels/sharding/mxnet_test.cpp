#include "sim/config/data_dir.h"
#include "sim/servers/sharding.h"
#include "tests/support/config_text.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Json known_answers() {
  const std::string file = std::string(STEPTIME_TESTS_DIR) + "/data/ps_sharding_cases.json";
  return parse_json(read_file(file), file);
}

std::vector<std::int64_t> elements_of(const std::string& model) {
  const std::string file = (data_dir() / "models" / (model + ".json")).string();
  std::vector<std::int64_t> elements;
  const Json table = parse_json(read_file(file), file);
  for (const Json& layer : table.at("layers")) {
    for (const Json& tensor : layer.value("tensors", Json::array()))
      elements.push_back(tensor.at("params").get<std::int64_t>());
  }
  return elements;
}

// tests/data/ps_sharding_cases.json applies the rule of apache/mxnet 1.3.1 kvstore_dist.h
// EncodeDefaultKey to the layer tables, outside of this program.
TEST(MxnetSharding, KnownAnswers) {
  const auto sharding = make<Sharding>(R"({"type": "mxnet"})");
  const Json answers = known_answers();
  ASSERT_FALSE(answers.at("cases").empty());
  for (const Json& one : answers.at("cases")) {
    SCOPED_TRACE(one.at("model").get<std::string>() + " on " + one.at("num_servers").dump());
    const auto elements = elements_of(one.at("model"));
    const auto servers = one.at("num_servers").get<std::int64_t>();
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(servers));
    std::vector<std::int64_t> messages(static_cast<std::size_t>(servers));
    std::vector<std::vector<std::int64_t>> of_key(elements.size());
    std::vector<std::int32_t> first_server(elements.size(), -1);
    for (const Shard& shard : sharding->shards(elements, servers)) {
      const auto s = static_cast<std::size_t>(shard.server);
      const auto k = static_cast<std::size_t>(shard.key);
      bytes[s] += 4 * shard.elements;
      ++messages[s];
      of_key[k].push_back(shard.elements);
      if (first_server[k] < 0) first_server[k] = shard.server;
    }
    EXPECT_EQ(Json(bytes), one.at("bytes_per_server"));
    EXPECT_EQ(Json(messages), one.at("messages_per_server_per_push"));
    for (const Json& key : one.at("sharded"))
      EXPECT_EQ(Json(of_key[key.at(0).get<std::size_t>()]), key.at(3)) << key.dump();
    for (const Json& key : one.at("small_key_examples_key_name_server"))
      EXPECT_EQ(first_server[key.at(0).get<std::size_t>()], key.at(2).get<int>()) << key.dump();
  }
}

TEST(MxnetSharding, TheBoundItselfIsSplit) {
  const auto sharding = make<Sharding>(R"({"type": "mxnet", "bound": 10})");
  // 10 over 4: parts end at round(2.5), 5, round(7.5), 10 = 3, 5, 8, 10. Key 1 hashes to
  // 9973 mod 4 = 1.
  EXPECT_EQ(sharding->shards(std::vector<std::int64_t>{10, 9}, 4),
            (std::vector<Shard>{{0, 0, 3}, {0, 1, 2}, {0, 2, 3}, {0, 3, 2}, {1, 1, 9}}));
}

}  // namespace
}  // namespace steptime
