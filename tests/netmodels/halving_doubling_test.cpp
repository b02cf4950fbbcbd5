#include "sim/collective.h"
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

TEST(HalvingDoubling, AnUnfinishedRoundCounts) {
  expect_line(R"({"type": "halving-doubling"})", 5, 60e-6, 2e-9);  // 3 rounds; 1 - 1/5
}

}  // namespace
}  // namespace steptime
