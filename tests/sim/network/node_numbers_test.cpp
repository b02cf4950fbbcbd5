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
}

TEST(NodeNumbers, AreWholeNumbers) {
  for (const char* nodes :
       {"[-1]", "[0.5]", "[\"a\"]", "0", "{\"a\": 1}", "[9223372036854775808]"}) {
    const std::string message = message_of<InputError>([&] { read(nodes); });
    EXPECT_NE(message.find("/nodes: expected a list of whole numbers from 0 on, got "),
              std::string::npos)
        << message;
  }
}

}  // namespace
}  // namespace steptime
