#include "sim/servers/transport.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(GrpcTransport, HasItsChannel) {
  EXPECT_FALSE(make<Transport>(R"({"type": "grpc"})")->channel->is_wire());
  EXPECT_TRUE(
      make<Transport>(R"({"type": "grpc", "channel": {"type": "wire"}})")->channel->is_wire());
}

}  // namespace
}  // namespace steptime
