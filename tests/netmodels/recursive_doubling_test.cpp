#include "sim/collective.h"
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

TEST(RecursiveDoubling, AnUnfinishedRoundCounts) {
  expect_line(R"({"type": "recursive-doubling"})", 3, 20e-6, 3e-9);
  expect_line(R"({"type": "recursive-doubling"})", 9, 40e-6, 6e-9);
}

}  // namespace
}  // namespace steptime
