// Does the default leave the step as it was?
#include "sim/embedding.h"
#include "sim/error.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Async, PlaysNoEngine) {
  EXPECT_FALSE(make<Embedding>(R"({"type": "async"})")->settings().has_value());
}

}  // namespace
}  // namespace steptime
