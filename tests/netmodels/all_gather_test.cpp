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

TEST(AllGather, TakesAsManyStepsForAnyNumberOfRanks) {
  // N - 1 steps of ceil(M / N) bytes.
  for (std::int64_t n = 2; n <= 33; ++n) {
    const Cluster cluster = star_cluster(n, kGamma);
    const auto collective = collective_of(R"({"type": "all-gather"})", cluster);
    for (const std::int64_t m : kSizes) {
      const std::int64_t part = (m + n - 1) / n;
      EXPECT_EQ(played_time(collective->programs({m}), Machine(cluster), kGamma, {}).count(),
                (n - 1) * message_ps(part))
          << n << " ranks, " << m << " B";
    }
  }
}

TEST(AllGather, IsNoAllReduce) {
  EXPECT_EQ(collective_of(R"({"type": "all-gather"})", star_cluster(2))->operation(),
            Operation::kAllGather);
}

}  // namespace
}  // namespace steptime
