#include "sim/layouts/recomputation.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(NoRecomputation, ComputesNothingAgain) {
  const auto none = make<Recomputation>(R"({"type": "none"})");
  EXPECT_EQ(none->of(0), Recomputed::kNothing);
  EXPECT_EQ(none->of(7), Recomputed::kNothing);
}

}  // namespace
}  // namespace steptime
