// That neither slows the other.
#include "sim/workload/overlap.h"
#include "tests/support/config_text.h"
#include "tests/support/fakes.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(NoOverlapCost, IsNone) {
  const auto none = make<Overlap>(R"("none")");
  EXPECT_EQ(none->beside(line({}, Duration(1)), Bytes{100}, 80), Slowdown{});
}

}  // namespace
}  // namespace steptime
