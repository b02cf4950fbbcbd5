#include "sim/network/node_numbers.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::vector<std::int64_t> read(const std::string& list) {
  static const Params kParams{{.key = "nodes", .kind = Kind::kList}};
  return read_node_numbers(config_of(R"({"nodes": )" + list + "}", kParams), "nodes");
}

TEST(NodeNumbers, AreAsTheListHasThem) {
  EXPECT_EQ(read("[3, 0]"), (std::vector<std::int64_t>{3, 0}));
  EXPECT_TRUE(read("[]").empty());
  // Who knows how many nodes there are says that these are not among them.
  EXPECT_EQ(read("[99999999999, 9223372036854775807]"),
            (std::vector<std::int64_t>{99999999999, 9223372036854775807}));
}

TEST(NodeNumbers, AreWholeNumbers) {
  for (const char* nodes :
       {"[-1]", "[0.5]", "[\"a\"]", "0", "{\"a\": 1}", "[9223372036854775808]"}) {
    const std::string message = message_of<InputError>([&] { read(nodes); });
    EXPECT_NE(
        message.find("/nodes: expected a list of node numbers, whole and from 0 to one less than "
                     "there are nodes, got "),
        std::string::npos)
        << message;
  }
}

}  // namespace
}  // namespace steptime
