#include "sim/layouts/states.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Replicated, EveryRankHoldsAllAndAllReduces) {
  const auto states = make<States>(R"({"type": "replicated"})");
  const StateParts parts = states->parts(16);
  EXPECT_EQ(parts.weights * parts.gradients * parts.optimizer, 1);
  EXPECT_EQ(states->sum(), Operation::kAllReduce);
  EXPECT_FALSE(states->sums_every_micro_batch());
  EXPECT_FALSE(states->gathers_updates());
  EXPECT_FALSE(states->gathering(false));
}

}  // namespace
}  // namespace steptime
