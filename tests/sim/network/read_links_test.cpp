#include "sim/network/read_links.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::vector<StatedLink> read(const std::string& links) {
  static const Params kParams{links_param(), routes_param()};
  return read_links(config_of(R"({"links": [)" + links + "]}", kParams), {{"a", 0}, {"b", 1}});
}

TEST(ReadLinks, ParallelOnesAddUp) {
  const auto links =
      read(R"({"ends": ["b", "a"], "latency": "2 us", "bandwidth": "3 GB/s", "count": 4})");
  ASSERT_EQ(links.size(), 1U);
  EXPECT_EQ(links[0].first, 1);
  EXPECT_EQ(links[0].second, 0);
  EXPECT_EQ(links[0].latency, std::chrono::microseconds(2));
  EXPECT_EQ(links[0].bandwidth.bytes_per_second, 12e9);
}

TEST(ReadLinks, HaveTwoEndsThatThereAre) {
  const auto refusal = [](const std::string& ends) {
    return message_of<InputError>(
        [&] { read(R"({"bandwidth": "1 GB/s", "ends": )" + ends + "}"); });
  };
  EXPECT_EQ(refusal(R"(["a"])"), "x.json: /links/0/ends: expected the names of two vertices");
  EXPECT_EQ(refusal(R"(["a", "c"])"), "x.json: /links/0/ends: no vertex is named \"c\"");
  EXPECT_EQ(refusal(R"(["a", "a"])"), "x.json: /links/0/ends: a link needs two different ends");
}

TEST(ReadLinks, JoinTwoEndsOnce) {
  EXPECT_EQ(message_of<InputError>([] {
              read(R"({"bandwidth": "1 GB/s", "ends": ["a", "b"]},
                      {"bandwidth": "2 GB/s", "ends": ["b", "a"]})");
            }),
            "x.json: /links/1/ends: \"b\" and \"a\" are joined already; expected the number of "
            "parallel links under \"count\"");
}

}  // namespace
}  // namespace steptime
