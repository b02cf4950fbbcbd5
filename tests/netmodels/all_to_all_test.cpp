#include "sim/core/error.h"
#include "tests/support/collectives.h"
#include "tests/support/messages.h"
#include "tests/support/play.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::unique_ptr<Collective> exchange(const Cluster& cluster) {
  return collective_of(R"({"type": "all-to-all"})", cluster);
}

TEST(AllToAll, TakesAStepForEachOtherRank) {
  // 5 ranks, 1003 B: parts of 201, 201, 201, 200 and 200 B, in 4 steps of which each has a longest.
  const Cluster cluster = star_cluster(5);
  EXPECT_EQ(exchange(cluster)->time({1003}).count(), 4 * message_ps(201));
  const Programs programs = exchange(cluster)->programs({1003});
  EXPECT_EQ(played_time(programs, Machine(cluster), {}, {}).count(), 4 * message_ps(201));
  EXPECT_EQ(programs.front()->messages(), 20);
  EXPECT_EQ(exchange(star_cluster(1))->time({1003}), Duration{});
}

TEST(AllToAll, SharesThePortOfANode) {
  // Two nodes of two GPUs, 400 B: in the second of three steps all four parts cross the network,
  // two on each port at half its rate. In the first and the third, ranks 1 and 3, or 0 and 2, cross
  // it alone, and the others, whose 2 us and 100 ps a byte are over by then, wait for them.
  Cluster cluster = star_cluster(2);
  cluster.gpus_per_node = 2;
  cluster.intra_node = {std::chrono::microseconds(2), {1e10}};
  EXPECT_EQ(exchange(cluster)->time({400}).count(), 2 * message_ps(100) + message_ps(200));
}

TEST(AllToAll, BringsEveryPartToItsRank) {
  for (Rank n = 1; n <= 9; ++n) {
    for (const std::int64_t m : {0, 1, 7, 100}) {
      // Rank r begins with the r-th M bytes, of which part t is for rank t.
      const auto values = random_data(1, n * m).front();
      std::vector<Data::Values> start(static_cast<std::size_t>(n));
      for (Rank r = 0; r < n; ++r) {
        start[static_cast<std::size_t>(r)].assign(values.size(), 0);
        std::copy_n(values.begin() + r * m, m, start[static_cast<std::size_t>(r)].begin() + r * m);
      }
      const auto end = carry(exchange(star_cluster(n))->programs({m}), star_cluster(n), start);
      ASSERT_FALSE(end.empty());
      for (Rank r = 0; r < n; ++r) {
        for (Rank from = 0; from < n; ++from) {
          const Slice part = part_of({from * m, m}, r, n);
          for (std::int64_t b = 0; b < part.bytes; ++b) {
            const auto i = static_cast<std::size_t>(part.offset + b);
            EXPECT_EQ(end[static_cast<std::size_t>(r)][i], values[i]) << n << ' ' << m;
          }
        }
      }
    }
  }
}

TEST(AllToAll, RefusesMoreThanCanBeCounted) {
  EXPECT_EQ(
      message_of<RangeError>([] { exchange(star_cluster(4))->time({std::int64_t{1} << 62}); }),
      "the parts of an all-to-all are more bytes than can be counted");
}

}  // namespace
}  // namespace steptime
