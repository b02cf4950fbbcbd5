#include "sim/servers/transport.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Transport, NamesThreeRoles) {
  const auto mpi = make<Transport>(R"({"type": "mpi"})");
  EXPECT_TRUE(mpi->channel->is_wire());
  EXPECT_NE(mpi->backend, nullptr);
  EXPECT_NE(mpi->coordinator, nullptr);
  EXPECT_EQ(mpi->streams, 1);
}

TEST(Transport, AConfigMayNameAnotherOneForARole) {
  EXPECT_FALSE(
      make<Transport>(R"({"type": "mpi", "channel": {"type": "grpc"}})")->channel->is_wire());
  const std::string refusal = message_of<InputError>(
      [] { make<Transport>(R"({"type": "mpi", "backend": {"type": "gpu"}})"); });
  EXPECT_TRUE(refusal.starts_with("x.json: /transport/backend/type: unknown \"gpu\"; known: "))
      << refusal;
}

}  // namespace
}  // namespace steptime
