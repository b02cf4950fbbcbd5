#include "sim/collective/collective.h"
#include "sim/collective/message_time.h"
#include "sim/core/error.h"
#include "tests/support/cluster.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

// alpha = 10 us, beta = 1 ns/B (1 GB/s), gamma = 0.5 ns/B.
//
// 004 Table II: a = 2 (N - 1) alpha, b = (N - 1) / N (2 beta + gamma) = 2.5 ns/B (N - 1) / N.
TEST(Ring, ClosedForm) {
  expect_line(R"({"type": "ring"})", 2, 20e-6, 1.25e-9);                 // 2 x 1; 1/2
  expect_line(R"({"type": "ring"})", 4, 60e-6, 1.875e-9);                // 2 x 3; 3/4
  expect_line(R"({"type": "ring"})", 5, 80e-6, 2e-9);                    // 2 x 4; 4/5
  expect_line(R"({"type": "ring"})", 1024, 20460e-6, 2.49755859375e-9);  // 2 x 1023; 1023/1024
}

// Each half is an operation of its own.
TEST(Ring, ItsHalves) {
  expect_line(R"({"type": "ring", "operation": "all-reduce"})", 4, 60e-6, 1.875e-9);
  expect_line(R"({"type": "ring", "operation": "reduce-scatter"})", 4, 30e-6, 1.125e-9);
  expect_line(R"({"type": "ring", "operation": "all-gather"})", 4, 30e-6, 0.75e-9);
}

TEST(Ring, OneWorkerNeedsNothing) {
  const auto alone = make<Collective>(R"({"type": "ring"})", flat_cluster(1));
  EXPECT_EQ(alone->time(Bytes{1'000'000}), Duration{});
}

// 001 section 5 prints (p - 1) alpha: the start-ups of one of the two halves.
TEST(Ring, TheOtherCountOfStartups) {
  expect_line(R"x({"type": "ring", "startups": "N-1"})x", 4, 30e-6, 1.875e-9);
  expect_line(R"x({"type": "ring", "startups": "2(N-1)"})x", 4, 60e-6, 1.875e-9);
  EXPECT_EQ(message_of<InputError>(
                [] { make<Collective>(R"({"type": "ring", "startups": "2N"})", flat_cluster(4)); }),
            "x.json: /collective/startups: unknown \"2N\"; known: 2(N-1), N-1");
}

// Half of the start-ups is less than any messages take: message fidelity refuses it.
TEST(Ring, NoMessagesTakeTheOtherCountOfStartups) {
  const Cluster cluster = flat_cluster(4);
  const auto half = make<Collective>(R"x({"type": "ring", "startups": "N-1"})x", cluster);
  EXPECT_TRUE(half->programs(Bytes{1000}).empty());
  EXPECT_EQ(message_of<PlacedError>([&] { MessageTimes(cluster, *half); }),
            "/run/fidelity: \"message\" needs a collective that is made of messages, such as ring; "
            "this one is "
            "known by its time only");
  // It occupies the links that a ring does, for as long.
  const auto whole = make<Collective>(R"({"type": "ring"})", cluster);
  EXPECT_EQ(half->stages(Bytes{1000})[0].work, whole->stages(Bytes{1000})[0].work);
}

// Four GPUs in two nodes: the ring crosses the network, so all its steps run at the network's pace;
// in one node they run at the pace of the link inside.
TEST(Ring, TheSlowestLinkSetsThePace) {
  Cluster cluster = flat_cluster(2);
  cluster.gpus_per_node = 2;
  cluster.intra_node = {Duration(1'000'000), Bandwidth{10e9}};
  EXPECT_EQ(make<Collective>(R"({"type": "ring"})", cluster)->startup(), Duration(60'000'000));
  cluster.nodes = 1;
  cluster.gpus_per_node = 4;
  const auto inside = make<Collective>(R"({"type": "ring"})", cluster);
  EXPECT_EQ(inside->startup(), Duration(6'000'000));  // 2 x 3 x 1 us
  EXPECT_DOUBLE_EQ(inside->linear()->b.seconds_per_byte, 0.75 * (2 * 0.1e-9 + 0.5e-9));
}

// 004 section V.A: a = 90.52, 271.56, 633.64 us for N = 2, 4, 8.
TEST(Ring, StartupOfThePaper) {
  Cluster cluster = flat_cluster(2);
  cluster.network.latency = Duration(45'260'000);
  EXPECT_EQ(make<Collective>(R"({"type": "ring"})", cluster)->startup(), Duration(90'520'000));
  cluster.nodes = 4;
  EXPECT_EQ(make<Collective>(R"({"type": "ring"})", cluster)->startup(), Duration(271'560'000));
  cluster.nodes = 8;
  EXPECT_EQ(make<Collective>(R"({"type": "ring"})", cluster)->startup(), Duration(633'640'000));
}

}  // namespace
}  // namespace steptime
