#include "netmodels/programs.h"
#include "sim/collective/message_time.h"
#include "tests/support/collectives.h"
#include "tests/support/play.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(ChainBroadcast, SegmentsFollowOneAnother) {
  //  3 segments, 4 ranks:  0->1  |1|2|3|
  //                        1->2    |1|2|3|
  //                        2->3      |1|2|3|     5 steps of 50 us + 1000 B
  EXPECT_EQ(play(chain_broadcast(4, {0, 3000}, 3), star_cluster(4)), 5 * message_ps(1000));
}

TEST(ChainBroadcast, LeavesTheDataOfRankZeroOnAll) {
  for (Rank n = 1; n <= 9; ++n) {
    for (const std::int64_t m : {0, 1, 7, 100}) {
      const auto start = random_data(n, m);
      const auto end = carry(one(chain_broadcast(n, {0, m}, 3)), star_cluster(n), start);
      ASSERT_FALSE(end.empty());
      for (Rank r = 0; r < n; ++r)
        EXPECT_EQ(end[static_cast<std::size_t>(r)], start[0]) << n << " ranks, " << m << " B";
    }
  }
}

TEST(ChainBroadcast, MessagesTakeTheClosedForm) {
  for (const std::int64_t n : {1, 2, 3, 6, 16}) {
    const Cluster cluster = star_cluster(n);
    const auto chain = collective_of(R"({"type": "chain-broadcast"})", cluster);
    for (const std::int64_t m : {0, 1, 1000, 1'000'000, 100'000'000})
      EXPECT_EQ(MessageTimes(cluster, *chain).time(Bytes{m}), chain->time(Bytes{m}))
          << n << " ranks, " << m << " B";
  }
}

TEST(ChainBroadcast, IsNoSlowerOnFasterLinksNorWithFewerBytes) {
  // Two nodes of four: the links between nodes have no latency, those inside have.
  Cluster cluster = star_cluster(2);
  cluster.gpus_per_node = 4;
  cluster.intra_node = {std::chrono::microseconds(20), {12.5e9}};
  cluster.network.latency = {};
  Duration slower = Duration::max();
  for (double gbps = 1.1; gbps < 400; gbps *= 1.1) {
    cluster.network.bandwidth = {gbps * 1e9 / 8};
    const auto chain = collective_of(R"({"type": "chain-broadcast"})", cluster);
    EXPECT_LE(chain->time({100'000'000}), slower) << gbps << " Gb/s";
    slower = chain->time({100'000'000});
    Duration last{};
    for (std::int64_t m = 0; m < 100'000'000; m += 1 + m / 5) {
      EXPECT_GE(chain->time({m}), last) << gbps << " Gb/s, " << m << " B";
      last = chain->time({m});
    }
  }
}

TEST(ChainBroadcast, TendsToOneTransfer) {
  // 6 ranks, 100 MB: K = sqrt(4 * 80 ms / 50 us) = 80, and 84 * (50 us + 1.25 MB / 1.25 GB/s).
  const auto chain = collective_of(R"({"type": "chain-broadcast"})", star_cluster(6));
  EXPECT_EQ(chain->time(Bytes{100'000'000}), std::chrono::microseconds(84 * 1050));
}

}  // namespace
}  // namespace steptime
