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

TEST(Broadcast, TakesAsManyStepsForAnyNumberOfRanks) {
  // log2 N rounds, rounded up, of M bytes.
  for (std::int64_t n = 2; n <= 33; ++n) {
    const Cluster cluster = star_cluster(n, kGamma);
    const auto collective = collective_of(R"({"type": "broadcast"})", cluster);
    std::int64_t rounds = 0;
    while ((1 << rounds) < n)
      ++rounds;
    for (const std::int64_t m : kSizes) {
      EXPECT_EQ(played_time(collective->programs({m}), Machine(cluster), kGamma, {}).count(),
                rounds * message_ps(m))
          << n << " ranks, " << m << " B";
    }
  }
}

TEST(Broadcast, IsNoAllReduce) {
  EXPECT_EQ(collective_of(R"({"type": "broadcast"})", star_cluster(2))->operation(),
            Operation::kBroadcast);
}

}  // namespace
}  // namespace steptime
