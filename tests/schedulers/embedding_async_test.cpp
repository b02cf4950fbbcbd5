// Does the default leave the step as it was?
#include "sim/core/error.h"
#include "sim/mxnet/embedding.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Async, PlaysNoEngine) {
  EXPECT_FALSE(make<Embedding>(R"({"type": "async"})")->has_main_thread());
}

}  // namespace
}  // namespace steptime
