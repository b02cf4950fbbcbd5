#include "tests/support/collectives.h"
#include "tests/support/play.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Broadcast, ClosedFormAndMessagesAgree) {
  // 8 ranks: 3 (alpha + M beta)
  const Cluster cluster = star_cluster(8, kGamma);
  const auto collective = collective_of(R"({"type": "broadcast"})", cluster);
  const std::int64_t expected = 3 * message_ps(8000);
  EXPECT_EQ(collective->time({8000}).count(), expected);
  EXPECT_EQ(MessageTimes(cluster, *collective).time({8000}).count(), expected);
}

TEST(Broadcast, IsNoAllReduce) {
  EXPECT_EQ(collective_of(R"({"type": "broadcast"})", star_cluster(2))->operation(),
            Operation::kBroadcast);
}

}  // namespace
}  // namespace steptime
