#include "sim/collective/collective.h"
#include "tests/support/cluster.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// alpha = 10 us, beta = 1 ns/B (1 GB/s), gamma = 0.5 ns/B.
//
// 004 Table II: a = 2 alpha log2 N, b = 2 beta - (2 beta + gamma) / N + gamma
//                                    = 2.5 ns/B (1 - 1/N).
TEST(HalvingDoubling, ClosedForm) {
  expect_line(R"({"type": "halving-doubling"})", 2, 20e-6, 1.25e-9);    // 1 round each way; 1 - 1/2
  expect_line(R"({"type": "halving-doubling"})", 8, 60e-6, 2.1875e-9);  // 3 rounds; 1 - 1/8
  expect_line(R"({"type": "halving-doubling"})", 1024, 200e-6,
              2.49755859375e-9);  // 10 rounds; 1 - 1/1024
}

TEST(HalvingDoubling, OneWorkerNeedsNothing) {
  const auto alone = make<Collective>(R"({"type": "halving-doubling"})", flat_cluster(1));
  EXPECT_EQ(alone->time(Bytes{1'000'000}), Duration{});
}

TEST(HalvingDoubling, RanksBeyondAPowerOfTwoFold) {
  // 5 ranks: M to a neighbour and back, 2 alpha and 2 beta + gamma; 4 ranks, 4 alpha and 1 - 1/4.
  expect_line(R"({"type": "halving-doubling"})", 5, 60e-6, 2.5e-9 + 1.875e-9);
}

TEST(HalvingDoubling, AllGpusOfANodeSendOverItsNic) {
  // 2 nodes of 4, inside 1 us and 0.25 ns/B: halves between the nodes, four messages to a NIC, then
  // quarters and eighths inside, and back:
  //   2 (12 us + (4 / 2 + .25 / 4 + .25 / 8) ns/B M) + 7/8 gamma M.
  Cluster cluster = flat_cluster(2);
  cluster.gpus_per_node = 4;
  cluster.intra_node = {Duration(1'000'000), Bandwidth{4e9}};
  const auto made = make<Collective>(R"({"type": "halving-doubling"})", cluster);
  EXPECT_EQ(made->startup(), Duration(24'000'000));
  EXPECT_DOUBLE_EQ(made->linear()->b.seconds_per_byte, 2 * 2.09375e-9 + .875 * .5e-9);
  EXPECT_EQ(made->outside_domain(Bytes{1}), "");
  // With the neighbour first, halves and quarters stay inside, and eighths go between the nodes:
  //   2 (12 us + (.25 / 2 + .25 / 4 + 4 / 8) ns/B M) + 7/8 gamma M.
  const auto near =
      make<Collective>(R"({"type": "halving-doubling", "first": "nearest"})", cluster);
  EXPECT_EQ(near->startup(), Duration(24'000'000));
  EXPECT_DOUBLE_EQ(near->linear()->b.seconds_per_byte, 2 * .6875e-9 + .875 * .5e-9);
}

TEST(HalvingDoubling, TheNearestFirstTakesAsLongOnEqualLinks) {
  for (const std::int64_t n : {2, 5, 8, 12}) {
    const auto line = [&](const char* config) {
      return *make<Collective>(config, flat_cluster(n))->linear();
    };
    const LinearCost far = line(R"({"type": "halving-doubling"})");
    const LinearCost near = line(R"({"type": "halving-doubling", "first": "nearest"})");
    EXPECT_EQ(near.a, far.a) << n;
    EXPECT_DOUBLE_EQ(near.b.seconds_per_byte, far.b.seconds_per_byte) << n;
  }
}

}  // namespace
}  // namespace steptime
