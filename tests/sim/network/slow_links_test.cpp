#include "sim/network/slow_links.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

SlowLinks read(const std::string& json) {
  return slow_link_keys().read(config_of(json, slow_link_keys().params()));
}

TEST(SlowLinks, AreNamed) {
  const SlowLinks slow = read(R"({"factor": 4, "nodes": [7, 2]})");
  EXPECT_EQ(slow.factor, 4);
  EXPECT_EQ(slow.drawn(8, 1), (std::vector<std::int64_t>{2, 7}));
  EXPECT_EQ(slow.drawn(8, 2), slow.drawn(8, 1));
}

/// Of 10,000 nodes 10 % are 1000, with a standard deviation of sqrt(10,000 x 0.1 x 0.9) = 30.
TEST(SlowLinks, AreDrawnWithTheirChance) {
  const SlowLinks slow{.chance = 0.1, .factor = 2};
  for (const std::int64_t seed : {1, 2, 3})
    EXPECT_NEAR(static_cast<double>(slow.drawn(10'000, seed).size()), 1000, 5 * 30) << seed;
  EXPECT_NE(slow.drawn(10'000, 1), slow.drawn(10'000, 2));
  EXPECT_EQ(SlowLinks{.factor = 2}.drawn(100, 1).size(), 0U);
  EXPECT_EQ((SlowLinks{.chance = 1, .factor = 2}.drawn(100, 1).size()), 100U);
}

/// So that what is compared meets the same slow links.
TEST(SlowLinks, MoreNodesAndALargerChanceKeepThoseThatAreSlow) {
  const auto few = SlowLinks{.chance = 0.1, .factor = 2}.drawn(100, 5);
  for (const auto& more : {SlowLinks{.chance = 0.3, .factor = 2}.drawn(100, 5),
                           SlowLinks{.chance = 0.1, .factor = 2}.drawn(300, 5)}) {
    EXPECT_GT(more.size(), few.size());
    EXPECT_TRUE(std::includes(more.begin(), more.end(), few.begin(), few.end()));
  }
}

TEST(SlowLinks, NodesAreWholeNumbers) {
  for (const char* nodes :
       {"[-1]", "[0.5]", "[\"a\"]", "0", "{\"a\": 1}", "[9223372036854775808]"}) {
    const std::string message = message_of<InputError>(
        [&] { read(std::string(R"({"factor": 2, "nodes": )") + nodes + "}"); });
    EXPECT_NE(message.find("/nodes: expected a list of whole numbers from 0 on, got "),
              std::string::npos)
        << message;
  }
}

}  // namespace
}  // namespace steptime
