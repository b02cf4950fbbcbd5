#include "sim/servers/channel.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Wire, DoesNothing) {
  const auto wire = make<MessageChannel>(R"({"type": "wire"})");
  Engine engine;
  EXPECT_EQ(wire->open(engine, {.clients = 4, .servers = 2}), nullptr);
  EXPECT_TRUE(wire->is_wire());
}

}  // namespace
}  // namespace steptime
