// Do kernels take the time that their page states?
#include "netmodels/libraries/nccl_kernel.h"

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr auto kRing = NcclAlgorithm::kRing;
constexpr auto kLl = NcclProtocol::kLl;
constexpr auto kLl128 = NcclProtocol::kLl128;
constexpr auto kSimple = NcclProtocol::kSimple;
constexpr NcclTuning kTuning(NcclTuning::Release::k2_12_12);

double us(const NcclGraph& graph, NcclAlgorithm a, NcclProtocol p, std::int64_t bytes) {
  return nccl_kernel_us(kTuning, graph, kTuning.launch(graph, a, p, bytes), bytes);
}

/// 4 V100, 4 rings, 8 blocks of 80 / 8 = 10 GB/s.
const NcclGraph kQuad{.ranks = 4, .channels = 4, .channel_gbps = 22, .nvlink = true};
/// 8 A100, 12 rings of 20 GB/s.
const NcclGraph kAmpere{.ranks = 8,
                        .channels = 12,
                        .channel_gbps = 20,
                        .nvlink = true,
                        .compute_capability = 80,
                        .switch_gbps = 240};

/// 640 threads of 30 B: chunks of 19,200 B. 1 MiB / 32 = 32,768 B: two; one byte more than
/// 32 x 19,200 B: two as well. 14 us, 7 times 1.9 us and a chunk.
TEST(NcclKernel, ChunksAreWholeGrains) {
  EXPECT_NEAR(us(kQuad, kRing, kLl128, 1 << 20), 14 + 7 * (1.9 + 3.84), 1e-9);
  EXPECT_NEAR(us(kQuad, kRing, kLl128, 32 * 19200), 14 + 7 * (1.9 + 1.92), 1e-9);
  EXPECT_NEAR(us(kQuad, kRing, kLl128, 32 * 19200 + 1), 14 + 7 * (1.9 + 3.84), 1e-9);
  // 8 bytes are one chunk, of 8 bytes.
  EXPECT_NEAR(us(kQuad, kRing, kLl128, 8), 14 + 7 * (1.9 + .0008), 1e-9);
}

/// A buffer's step holds 576,000 B: 32 of them are a loop; 40 are a loop and chunks of 8/32 step,
/// 7.5 grains.
TEST(NcclKernel, LargeMessagesLoop) {
  EXPECT_NEAR(us(kQuad, kRing, kLl128, 40 * 576000), 14 + 7 * (1.9 + 57.6 + 8 * 1.92), 1e-9);
}

/// PCIe, 2 GPUs, 2 GB/s: LL at 1 GB/s in all. 64 threads of 8 B: 1 KiB is one grain on each of two
/// chunks: one block, 3 (1 + .512) us; 64 KiB are 8 grains of 4 KiB for each of two ranks: two
/// blocks at .5 GB/s, 16 KiB each.
TEST(NcclKernel, LlOverPcieSharesTheWire) {
  const NcclGraph graph{.ranks = 2, .channel_gbps = 2};
  EXPECT_NEAR(us(graph, kRing, kLl, 1024), 3.6 + 3 * (1 + .512), 1e-9);
  EXPECT_NEAR(us(graph, kRing, kLl, 65536), 3.6 + 3 * (1 + 16.384 / .5), 1e-9);
  // A fast wire leaves the block as the limit: 3.5 GB/s.
  const NcclGraph fast{.ranks = 2, .channel_gbps = 100};
  EXPECT_NEAR(us(fast, kRing, kLl, 1024), 3.6 + 3 * (1 + .512 / 3.5), 1e-9);
}

/// From Ampere on the blocks that have a grain share 87.7 GB/s, at most 19 GB/s each: 8 ranks with
/// grains of 512 threads x 8 B. 32 KiB are one, 512 KiB sixteen.
TEST(NcclKernel, BlocksOfAmpereShareWhatLlMoves) {
  EXPECT_NEAR(us(kAmpere, kRing, kLl, 32768), 6.6 + 15 * (.6 + 4.096 / 19), 1e-9);
  EXPECT_NEAR(us(kAmpere, kRing, kLl, 524288), 6.6 + 15 * (.6 + 4.096 / (60.0 / 16)), 1e-9);
}

/// 2 (n - 1) = 6 steps of 3.4 us over NVLink; over PCIe 6 steps of 5.7 us, or their two slices
/// where these take longer: 1.5 M / 10 GB/s against 68.4 us.
TEST(NcclKernel, SimpleHidesStepsOverPcieOnly) {
  EXPECT_NEAR(us(kQuad, kRing, kSimple, 88'000'000), 8.4 + 20.4 + 1500, 1e-9);
  const NcclGraph pcie{.ranks = 4, .channel_gbps = 10};
  EXPECT_NEAR(us(pcie, kRing, kSimple, 100'000), 8.4 + 7.5 + 34.2, 1e-9);
  EXPECT_NEAR(us(pcie, kRing, kSimple, 1'000'000), 8.4 + 150, 1e-9);
}

/// 24 blocks move 128 KiB each to a GPU in a round, 8 GPUs 24 MiB in all: 4 GiB are 170 rounds of
/// 14.57 steps, and one of 2/3 that takes .22 + .78 x 2/3; 256 MiB are 10 and as much, 4 x 1.35 %
/// slower. Two GPUs move 6 MiB in 2.57 steps.
TEST(NcclKernel, AmpereMovesRounds) {
  const double latency = 8.4 + 14 * 3.4;
  const double step = 24 * 131072 / 240e3;
  const double last = .22 + .78 * 2 / 3;
  EXPECT_NEAR(us(kAmpere, kRing, kSimple, 1LL << 32), latency + 14.57 * (170 + last) * step, 1e-6);
  EXPECT_NEAR(us(kAmpere, kRing, kSimple, 1LL << 28),
              latency + 14.57 * (10 + last) * step * (1 + 4 * .0135), 1e-6);
  NcclGraph pair = kAmpere;
  pair.ranks = 2;
  EXPECT_NEAR(us(pair, kRing, kSimple, 1LL << 32), 8.4 + 6.8 + 2.57 * (682 + last) * step, 1e-6);
  // 12 links of 22 GB/s: a GPU's memory takes 250.
  NcclGraph fast = kAmpere;
  fast.channel_gbps = 22;
  EXPECT_NEAR(us(fast, kRing, kSimple, 1LL << 32),
              latency + 14.57 * (170 + last) * step * 240 / 250, 1e-6);
}

/// A byte more than four rounds of 24 MiB begins a fifth.
TEST(NcclKernel, AmpereBeginsARoundForOneByte) {
  const double before = us(kAmpere, kRing, kSimple, 96LL << 20);
  const double after = us(kAmpere, kRing, kSimple, (96LL << 20) + 1);
  const double ramp = 1 + .0135 * std::log2(4096. / 96);
  EXPECT_NEAR(after - before, 14.57 * .22 * 24 * 131072 / 240e3 * ramp, 1e-3);
}

/// 8 H100: 23 us, 9/8 M over 85.6 % of 360 GB/s, and 6 MiB of it once more, which come to
/// log2(4 GiB / 6 MiB) = 9.415 times 2.7 % more.
TEST(NcclKernel, NvlsSendsTheDataOnceAndTheSumOnce) {
  const NcclGraph hopper{.ranks = 8,
                         .channels = 12,
                         .channel_gbps = 30,
                         .nvlink = true,
                         .compute_capability = 90,
                         .switch_gbps = 360,
                         .nvls_gbps = 320};
  EXPECT_NEAR(us(hopper, NcclAlgorithm::kNvls, kSimple, 1LL << 32),
              23 + 1.125 * (4 * (1LL << 30) + (6 << 20) * (1 + 9.41504 * .027)) / (.856 * 360e3),
              1e-4);
}

TEST(NcclKernel, TreesTakeNcclsEstimate) {
  NcclChoice choice = kTuning.launch(kQuad, NcclAlgorithm::kTree, kLl, 1000);
  choice.time_us = 12;
  EXPECT_EQ(nccl_kernel_us(kTuning, kQuad, choice, 1000), 12);
}

}  // namespace
}  // namespace steptime
