#include "tests/support/collectives.h"
#include "tests/support/play.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(AllGather, ClosedFormAndMessagesAgree) {
  // 8 ranks: 7 (alpha + M / 8 beta)
  const Cluster cluster = star_cluster(8, kGamma);
  const auto collective = collective_of(R"({"type": "all-gather"})", cluster);
  const std::int64_t expected = 7 * message_ps(1000);
  EXPECT_EQ(collective->time({8000}).count(), expected);
  EXPECT_EQ(MessageTimes(cluster, *collective).time({8000}).count(), expected);
}

TEST(AllGather, IsNoAllReduce) {
  EXPECT_EQ(collective_of(R"({"type": "all-gather"})", star_cluster(2))->operation(),
            Operation::kAllGather);
}

}  // namespace
}  // namespace steptime
