#include "sim/collective/message_time.h"
#include "tests/support/collectives.h"
#include "tests/support/play.h"
#include "tests/support/presets.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::microseconds;

// 8 ranks, alpha 50 us, beta 0.8 ns/B, gamma 0.25 ns/B on the host and 1 ns/B on the GPU: recursive
// doubling takes 3 (50 us + 1.05 ns/B), halving and doubling 300 us + (7/4 0.8 + 7/8 gamma) M.
const Cluster kCluster = star_cluster(8, {1e-9});

TEST(Mvapich2, AsksTheDriverBeforeEachRound) {
  const auto made = collective_of(R"({"type": "mvapich2-gdr", "query": "2 us"})", kCluster);
  EXPECT_EQ(made->choice({8}), "recursive-doubling");
  const auto cached = collective_of(R"({"type": "mpi-opt"})", kCluster);
  EXPECT_EQ(made->time({8}) - cached->time({8}), 3 * 8 * microseconds(2));
  EXPECT_EQ(
      collective_of(R"({"type": "mpi-opt", "pointer_cache": false, "query": "2 us"})", kCluster)
          ->time({8}),
      made->time({8}));
}

TEST(Mvapich2, CopiesLargeOnesToPageableMemory) {
  // Two copies where the buffer is reduced in place, three where it is not; the CPU adds up.
  const Bytes m{80'000'000};
  const double wire = 300e-6 + 80e6 * 1.75 * 0.8e-9;
  const double sums = 80e6 * 0.875 * 0.25e-9;
  const double copy = 7e-6 + 80e6 / 5.5e9;
  const auto made = collective_of(R"({"type": "mvapich2-gdr"})", kCluster);
  EXPECT_EQ(made->choice(m), "staged halving-doubling");
  EXPECT_NEAR(to_seconds(made->time(m)), wire + sums + 2 * copy, 1e-9);
  EXPECT_NEAR(
      to_seconds(
          collective_of(R"({"type": "mvapich2-gdr", "in_place": false})", kCluster)->time(m)),
      wire + sums + 3 * copy, 1e-9);
}

TEST(MpiOpt, AddsUpInKernels) {
  const Bytes m{80'000'000};
  const auto made = collective_of(R"({"type": "mpi-opt", "kernel": "10 us"})", kCluster);
  EXPECT_EQ(made->choice(m), "halving-doubling");
  EXPECT_NEAR(to_seconds(made->time(m)), 300e-6 + 80e6 * (1.75 * 0.8e-9 + 0.875e-9) + 3 * 10e-6,
              1e-9);
}

TEST(MpiOpt, KeepsMostBytesInANode) {
  // 2 nodes of 4 GPUs with 12 GB/s inside: halves and quarters stay in the node, and the four
  // eighths cross a NIC of 10 GB/s, there and back, against one half each with the farthest first.
  Cluster cluster{.nodes = 2, .gpus_per_node = 4};
  cluster.network = {microseconds(1), {10e9}};
  cluster.intra_node = {microseconds(1), {12e9}};
  const auto made = collective_of(R"({"type": "mpi-opt", "kernel": "0 s"})", cluster);
  const Bytes m{80'000'000};
  EXPECT_NEAR(to_seconds(made->time(m)),
              6e-6 + 80e6 * 2 * (.75 / 12e9 + 4 * .125 / 10e9) +
                  80e6 * .875 * cluster.reduction.seconds_per_byte,
              1e-9);
}

TEST(MpiOpt, LeadsOnRi2) {
  // Of an empty message between GPUs, 1.29 us and twice 0.5, there are four rounds: 9.16 us against
  // NCCL's 69. The lead over what asks the driver falls with size, as transfers count more.
  const Cluster ri2 = preset_cluster("ri2");
  const auto opt = collective_of(R"({"type": "mpi-opt"})", ri2);
  const auto was = collective_of(R"({"type": "mvapich2-gdr", "query": "0.8875 us"})", ri2);
  const auto nccl = collective_of(R"({"type": "nccl", "version": "2.3.7"})", ri2);
  EXPECT_GE(to_seconds(nccl->time({8})), 4 * to_seconds(opt->time({8})));
  double lead = 1e9;
  for (std::int64_t m = 8; m <= 16 << 10; m *= 2) {
    const double now = to_seconds(was->time({m})) / to_seconds(opt->time({m}));
    EXPECT_LT(now, lead) << m;
    lead = now;
  }
}

TEST(Mvapich2, MessagesTakeAsLong) {
  for (const char* name : {"mvapich2-gdr", "mpi-opt"}) {
    const auto made = collective_of(std::string(R"({"type": ")") + name + "\"}", kCluster);
    for (const std::int64_t m : {8, 64 << 10, 64 << 20})
      EXPECT_EQ(MessageTimes(kCluster, *made).time({m}), made->time({m})) << name << ' ' << m;
  }
}

TEST(Mvapich2, NoSizeIsFasterThanASmallerOne) {
  for (const char* name : {"mvapich2-gdr", "mpi-opt"}) {
    const auto made = collective_of(std::string(R"({"type": ")") + name + "\"}", kCluster);
    Duration before{};
    for (std::int64_t m = 8; m <= 1 << 28; m += m / 2) {
      EXPECT_GE(made->time({m}), before) << name << ' ' << m;
      before = made->time({m});
    }
  }
}

}  // namespace
}  // namespace steptime
