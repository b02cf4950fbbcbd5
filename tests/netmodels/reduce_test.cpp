#include "tests/support/collectives.h"
#include "tests/support/play.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Reduce, ClosedFormAndMessagesAgree) {
  // 8 ranks: 3 (alpha + M beta + M gamma)
  const Cluster cluster = star_cluster(8, kGamma);
  const auto collective = collective_of(R"({"type": "reduce"})", cluster);
  const std::int64_t expected = 3 * (message_ps(8000) + sum_ps(8000));
  EXPECT_EQ(collective->time({8000}).count(), expected);
  EXPECT_EQ(MessageTimes(cluster, *collective).time({8000}).count(), expected);
}

TEST(Reduce, TakesAsManyStepsForAnyNumberOfRanks) {
  // log2 N rounds, rounded up, of M bytes, each added up.
  for (std::int64_t n = 2; n <= 33; ++n) {
    const Cluster cluster = star_cluster(n, kGamma);
    const auto collective = collective_of(R"({"type": "reduce"})", cluster);
    std::int64_t rounds = 0;
    while ((1 << rounds) < n)
      ++rounds;
    for (const std::int64_t m : kSizes) {
      EXPECT_EQ(played_time(collective->programs({m}), Machine(cluster), kGamma, {}).count(),
                rounds * (message_ps(m) + sum_ps(m)))
          << n << " ranks, " << m << " B";
    }
  }
}

TEST(Reduce, IsNoAllReduce) {
  EXPECT_EQ(collective_of(R"({"type": "reduce"})", star_cluster(2))->operation(),
            Operation::kReduce);
}

}  // namespace
}  // namespace steptime
