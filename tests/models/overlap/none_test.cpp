// That neither slows the other.
#include "sim/workload/overlap.h"
#include "tests/support/config_text.h"
#include "tests/support/fakes.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(NoOverlapCost, IsNone) {
  const auto none = make<Overlap>(R"("none")");
  const LinearCollective alone = line({}, Duration(1));
  const LinearCollective beside_kernels = line({}, Duration(2));
  EXPECT_EQ(none->beside({alone, beside_kernels}, Bytes{100}, 80), Slowdown{});
}

}  // namespace
}  // namespace steptime
