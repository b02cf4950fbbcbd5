#include "sim/servers/aggregation.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Sgd, IsSynchronous) {
  EXPECT_EQ(make<Update>(R"({"type": "sgd"})")->kind, Update::Kind::kSgd);
}

}  // namespace
}  // namespace steptime
