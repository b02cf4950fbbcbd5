#include "tests/support/push_pulls.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/presets.h"
#include "tests/support/scratch_file.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// So many bytes as keys of these sizes, in any unit.
double us_of_tensors(const std::string& sizes, std::int64_t bytes) {
  Json tensors = Json::array();
  for (const Json& size : Json::parse(sizes))
    tensors.push_back({{"params", size}});
  const Json table{{"layers", {{{"name", "without"}}, {{"tensors", tensors}}}}};
  const ScratchFile file("model.json", table.dump());
  return us(push_pulls("device", R"(, "model": ")" + file.path() + "\""), pair_of_gpus(), bytes);
}

TEST(PushPulls, KeysMayBeTheTensorsOfAModel) {
  // As two equal keys and as a single one of tests/netmodels/merges/device_test.cpp.
  EXPECT_NEAR(us_of_tensors("[7, 7]", 2'000'000), 2246, 1e-6);
  EXPECT_NEAR(us_of_tensors("[7]", 1'000'000), 2096, 1e-6);
}

TEST(PushPulls, TheMainThreadMayBeWhatTakesLongest) {
  // Of empty keys every copy and sum takes 15 us, or 16 on the link. Of ten keys the main thread
  // pushes the last copy at 10 * (2 * 45 + 5 * 2) = 1000; it ends 15 us later, on GPU 1's own.
  EXPECT_NEAR(us(push_pulls("device", R"(, "keys": 10)"), pair_of_gpus(), 0), 1000 + 15, 1e-6);
}

TEST(PushPulls, TimeDoesNotFallWhereKeysAreCut) {
  const auto tree = collective_of(push_pulls("tree"), preset_cluster("p3.16xlarge"));
  EXPECT_EQ(tree->time({40'000'003}), tree->time({40'000'004}));
  EXPECT_GT(tree->time({400'000'000}), tree->time({40'000'004}));
  EXPECT_EQ(tree->startup(), tree->time({0}));
}

TEST(PushPulls, RefusesWhatKvstoreHasNot) {
  const auto error = [](const std::string& merge, const Cluster& cluster) {
    return message_of<InputError>([&] { collective_of(push_pulls(merge), cluster); });
  };
  EXPECT_EQ(error("device", preset_cluster("p3.16xlarge", 1, 1)),
            "x.json: /collective/merge: is of the GPUs of one node, two at least, got 1 of 1");
  EXPECT_EQ(error("tree", preset_cluster("p3.16xlarge", 2, 8)),
            "x.json: /collective/merge: is of the GPUs of one node, two at least, got 2 of 8");
  EXPECT_TRUE(error("ring", pair_of_gpus())
                  .starts_with("x.json: /collective/merge: unknown \"ring\"; known: "));
  const ScratchFile empty("model.json", "{}");
  EXPECT_EQ(message_of<InputError>([&] {
              collective_of(push_pulls("device", R"(, "model": ")" + empty.path() + "\""),
                            pair_of_gpus());
            }),
            "x.json: /collective/model: expected a layer table with tensors");
}

}  // namespace
}  // namespace steptime
