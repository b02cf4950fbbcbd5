#include "sim/servers/aggregation.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Asgd, IsAsynchronous) {
  EXPECT_EQ(make<Update>(R"({"type": "asgd"})")->kind, Update::Kind::kAsgd);
}

}  // namespace
}  // namespace steptime
