#include "sim/collective/collective.h"
#include "tests/support/cluster.h"
#include "tests/support/config_text.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// alpha = 10 us, beta = 1 ns/B (1 GB/s), gamma = 0.5 ns/B.
//
// 004 Table II: a = alpha log2 N, b = (beta + gamma) log2 N = 1.5 ns/B log2 N.
TEST(RecursiveDoubling, ClosedForm) {
  expect_line(R"({"type": "recursive-doubling"})", 2, 10e-6, 1.5e-9);     // log2 N = 1
  expect_line(R"({"type": "recursive-doubling"})", 8, 30e-6, 4.5e-9);     // 3
  expect_line(R"({"type": "recursive-doubling"})", 1024, 100e-6, 15e-9);  // 10
}

TEST(RecursiveDoubling, OneWorkerNeedsNothing) {
  const auto alone = make<Collective>(R"({"type": "recursive-doubling"})", flat_cluster(1));
  EXPECT_EQ(alone->time(Bytes{1'000'000}), Duration{});
}

TEST(RecursiveDoubling, RanksBeyondAPowerOfTwoFold) {
  // M to a neighbour and back, 2 alpha and 2 beta + gamma, around the rounds of 2 and of 8.
  expect_line(R"({"type": "recursive-doubling"})", 3, 30e-6, 2.5e-9 + 1.5e-9);
  expect_line(R"({"type": "recursive-doubling"})", 9, 50e-6, 2.5e-9 + 4.5e-9);
}

TEST(RecursiveDoubling, AllGpusOfANodeSendOverItsNic) {
  // 4 nodes of 2, inside 1 us and 0.25 ns/B: one round inside, two of two messages to a NIC.
  Cluster cluster = flat_cluster(4);
  cluster.gpus_per_node = 2;
  cluster.intra_node = {Duration(1'000'000), Bandwidth{4e9}};
  const auto made = make<Collective>(R"({"type": "recursive-doubling"})", cluster);
  EXPECT_EQ(made->startup(), Duration(21'000'000));
  EXPECT_DOUBLE_EQ(made->linear()->b.seconds_per_byte, .25e-9 + 2 * 2e-9 + 3 * .5e-9);
}

}  // namespace
}  // namespace steptime
