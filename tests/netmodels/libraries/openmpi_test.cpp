// Does Open MPI's all-reduce switch where its sources do, and cost what the page states?
#include "sim/collective/collective.h"
#include "sim/core/error.h"
#include "tests/support/cluster.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// alpha = 20 us, beta = 1 ns/B, gamma = 0.5 ns/B.
Cluster hosts(std::int64_t n) {
  const Link link{Duration(20'000'000), Bandwidth{1e9}};
  return {.nodes = n, .network = link, .intra_node = link, .reduction = {0.5e-9}};
}
std::unique_ptr<Collective> openmpi(std::int64_t n, const std::string& more = "") {
  return make<Collective>(R"({"type": "openmpi")" + more + "}", hosts(n));
}
double us(const Collective& collective, std::int64_t bytes) {
  return to_seconds(collective.time(Bytes{bytes})) * 1e6;
}

TEST(OpenMpi, AlgorithmBySize) {
  const auto eight = openmpi(8);
  EXPECT_EQ(eight->choice(Bytes{9999}), "recursive-doubling");
  EXPECT_EQ(eight->choice(Bytes{10000}), "ring");
  EXPECT_EQ(eight->choice(Bytes{8 << 20}), "ring");
  EXPECT_EQ(eight->choice(Bytes{(8 << 20) + 1}), "segmented-ring");
  EXPECT_EQ(openmpi(5000)->choice(Bytes{20000}), "reduce-broadcast");
}

/// 8 ranks: three rounds of 20 us + 1.5 ns/B.
TEST(OpenMpi, RecursiveDoubling) {
  EXPECT_NEAR(us(*openmpi(8), 1000), 3 * (20 + 1 + 0.5), 1e-6);
  EXPECT_EQ(openmpi(8)->startup(), Duration(60'000'000));
  // 6 ranks: two extra ones join first and are told last.
  EXPECT_NEAR(us(*openmpi(6), 1000), (2 + 2) * 21.5, 1e-6);
}

/// 4 ranks, 200,000 B: 2 x 3 steps of 50,000 B, 3 of them with an addition.
TEST(OpenMpi, RingOfEagerMessages) {
  EXPECT_NEAR(us(*openmpi(4), 200000), 6 * (20 + 50) + 3 * 25, 1e-6);
}

/// A block of 64 KiB asks first: three messages for one.
TEST(OpenMpi, RingOfRendezvousMessages) {
  const double m = 65.536;
  EXPECT_NEAR(us(*openmpi(4), 4 * 65536), 6 * (60 + m) + 3 * m / 2, 1e-6);
  EXPECT_NEAR(us(*openmpi(4, R"(, "eager_limit": "65537 B")"), 4 * 65536), 6 * (20 + m) + 3 * m / 2,
              1e-6);
}

/// Past 2 MiB between two: one step in segments of 1 MiB, one whole. 4 MiB: a block is 2 MiB.
TEST(OpenMpi, SegmentedRing) {
  const double mib = 1048.576;
  EXPECT_NEAR(us(*openmpi(2), 4 << 20), 2 * (60 + mib) + (60 + 2 * mib) + mib, 1e-6);
}

/// 8 ranks: two doublings past two make each message of the ring wait twice.
TEST(OpenMpi, OverheadsAddWhereTheyArise) {
  const auto collective =
      openmpi(8, R"(, "call_overhead": "10 us", "ring_wait": "5 us", "packet_overhead": "30 us",
                      "packet": "2000 B")");
  EXPECT_NEAR(us(*collective, 1000), 10 + 3 * 21.5, 1e-6);
  EXPECT_NEAR(us(*collective, 2000), 10 + 3 * 23, 1e-6);
  EXPECT_NEAR(us(*collective, 2001), 10 + 3 * (23.0015 + 30), 1e-6);
  EXPECT_NEAR(us(*collective, 80000), 10 + 14 * (20 + 10 + 30 + 10) + 7 * 5, 1e-6);
}

/// k all-reduces at once: bandwidth is shared, latency is not.
TEST(OpenMpi, ConcurrentJobsShareTheLinks) {
  const double once = us(*openmpi(2), 1'000'000);
  const double four = us(*openmpi(2, R"(, "concurrent": 4)"), 1'000'000);
  EXPECT_NEAR(four - once, 3 * 2 * 500, 1e-6);
}

TEST(OpenMpi, NoTimeFallsAnywhere) {
  for (const std::int64_t n : {2, 3, 8, 64, 5000}) {
    const auto collective = openmpi(n);
    Duration last{};
    for (std::int64_t bytes = 0; bytes < (1LL << 34); bytes += 1 + bytes / 97) {
      ASSERT_GE(collective->time(Bytes{bytes}), last) << n << " ranks, " << bytes << " B";
      last = collective->time(Bytes{bytes});
    }
  }
  EXPECT_EQ(openmpi(1)->time(Bytes{1000}), Duration{});
}

TEST(OpenMpi, SeveralRanksPerNodeAreOutsideItsDomain) {
  Cluster cluster = flat_cluster(4);
  EXPECT_EQ(make<Collective>(R"({"type": "openmpi"})", cluster)->outside_domain(Bytes{1}), "");
  cluster.gpus_per_node = 2;
  EXPECT_EQ(make<Collective>(R"({"type": "openmpi"})", cluster)->outside_domain(Bytes{1}),
            "\"openmpi\" is made for one rank per node: here several share a NIC");
}

TEST(OpenMpi, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(message_of<InputError>([] { openmpi(2, R"(, "concurrent": 0)"); }),
            "x.json: /collective/concurrent: must be at least 1 and at most 1000000, got 0");
}

}  // namespace
}  // namespace steptime
