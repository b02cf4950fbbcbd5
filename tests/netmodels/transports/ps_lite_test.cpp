#include "sim/servers/transport.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(PsLiteTransports, HaveTheirChannels) {
  EXPECT_FALSE(make<Transport>(R"({"type": "ps-lite"})")->channel->is_wire());
  EXPECT_FALSE(make<Transport>(R"({"type": "byteps"})")->channel->is_wire());
  EXPECT_FALSE(make<Transport>(R"({"type": "ps-lite-rdma"})")->channel->is_wire());
}

}  // namespace
}  // namespace steptime
