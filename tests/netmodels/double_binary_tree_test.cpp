#include "tests/support/collectives.h"
#include "tests/support/play.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(DoubleBinaryTree, ClosedFormIsTheLimitOfSmallChunks) {
  // 2 log2 8 alpha + M (2 beta + gamma)
  const auto collective =
      collective_of(R"({"type": "double-binary-tree"})", star_cluster(8, kGamma));
  EXPECT_EQ(collective->time({1000}).count(), 6 * kLatencyPs + 1000 * (2 * kPsPerByte + 1000));
}

TEST(DoubleBinaryTree, MessagesAreNotFasterThanTheClosedForm) {
  for (const std::int64_t n : {8, 16, 33}) {
    for (const std::int64_t m : {0, 1000, 10'000'000}) {
      const Cluster cluster = star_cluster(n);
      const auto collective = collective_of(R"({"type": "double-binary-tree"})", cluster);
      // A tree of 33 ranks may be one level lower than log2 n rounded up.
      const std::int64_t slack = n == 33 ? 2 * kLatencyPs : 0;
      EXPECT_GE(MessageTimes(cluster, *collective).time({m}).count() + slack,
                collective->time({m}).count())
          << n << " ranks, " << m << " B";
    }
  }
}

TEST(DoubleBinaryTree, LeavesTheSumOnEveryRank) {
  for (Rank n = 1; n <= 33; ++n) {
    for (const char* rule : {"2.7.8", "2.8.4"}) {
      const auto collective = collective_of(
          std::string(R"({"type": "double-binary-tree", "chunk": "40 B", "second_tree": ")") +
              rule + "\"}",
          star_cluster(n));
      EXPECT_TRUE(all_reduces(collective->programs({301}), n, 301, star_cluster(n)));
    }
  }
}

}  // namespace
}  // namespace steptime
