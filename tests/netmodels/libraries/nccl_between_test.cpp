// Do kernels between nodes take the time that their page states?
#include "netmodels/libraries/nccl_between.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr auto kTree = NcclAlgorithm::kTree;
constexpr auto kRing = NcclAlgorithm::kRing;
constexpr auto kLl = NcclProtocol::kLl;
constexpr auto kSimple = NcclProtocol::kSimple;
constexpr NcclTuning kTuning(NcclTuning::Release::k2_18_3);

double us(const NcclGraph& graph, NcclAlgorithm a, NcclProtocol p, std::int64_t bytes) {
  NcclChoice choice = kTuning.launch(graph, a, p, bytes);
  choice.time_us = kTuning.time_us(graph, a, p, bytes);
  return nccl_between_us(kTuning, graph, choice, bytes);
}

/// 2 nodes of 8 V100, one NIC of 10 GB/s, 20 us from GPU to GPU.
const NcclGraph kPair{.ranks = 16,
                      .nodes = 2,
                      .channels = 1,
                      .channel_gbps = 10,
                      .nvlink = true,
                      .network_us = 20,
                      .network_gbps = 10};
/// 4 nodes of one GPU each on the same network.
const NcclGraph kFour{.ranks = 4,
                      .nodes = 4,
                      .channel_gbps = 10,
                      .nvlink = true,
                      .network_us = 20,
                      .network_gbps = 10};

/// 30 hops, 4 of which cross at 20 + 2.6 us; the others wait for a post of 1 us (AMD 2 us). LL
/// sends 2 B for one and has 10 / 4 x 2 = 5 GB/s.
TEST(NcclBetween, ARingAddsUpItsHops) {
  EXPECT_NEAR(us(kPair, kRing, kLl, 16), 6.6 + 26 + 4 * 22.6 + 1.875 * .016 / 5, 1e-9);
  NcclGraph amd = kPair;
  amd.amd = true;
  EXPECT_NEAR(us(amd, kRing, kLl, 16), 6.6 + 52 + 4 * 22.6 + 1.875 * .016 / 5, 1e-9);
}

/// With one GPU a node all 6 hops cross, at 31.6 us with Simple. 64 B a chunk on two channels are
/// where they begin to cost more, 32 KiB where they cost 1.9 times as much; 1,448.2 B, the
/// geometric mean of the two, half of it.
TEST(NcclBetween, LongChunksOfARingCostMore) {
  EXPECT_NEAR(us(kFour, kRing, kSimple, 512), 8.4 + 6 * 31.6 + 1.5 * .512 / 10, 1e-9);
  EXPECT_NEAR(us(kFour, kRing, kSimple, 8 << 15), 8.4 + 6 * 31.6 * 1.9 + 1.5 * 262.144 / 10, 1e-9);
  EXPECT_NEAR(us(kFour, kRing, kSimple, 8 * 1448), 8.4 + 6 * 31.6 * 1.45 + 1.5 * 11.584 / 10, .02);
}

/// Two levels, up and down, of 22.6 us, and 1.55 times that from 8 KiB on. More than two nodes send
/// M up and down through their NICs, with LL twice that.
TEST(NcclBetween, ATreeClimbsItsLevels) {
  EXPECT_NEAR(us(kFour, kTree, kLl, 8), 6.8 + 4 * 22.6 + 2 * 2 * .008 / 10, 1e-9);
  EXPECT_NEAR(us(kFour, kTree, kLl, 8192), 6.8 + 4 * 22.6 * 1.55 + 2 * 2 * 8.192 / 10, 1e-9);
}

/// Seven steps of .6 us inside a node; M is NCCL's estimate: 10 x .92 / 3.8 GB/s, of which a tree
/// gets half. From 1 GiB on the correction is 1: 10 x .92 / 2 GB/s, less than the NIC.
TEST(NcclBetween, InsideANodeATreeIsAChain) {
  EXPECT_NEAR(us(kPair, kTree, kLl, 16), 6.8 + 2 * (7 * .6 + 22.6) + .016 / (9.2 / 3.8 / 2), 1e-9);
  EXPECT_NEAR(us(kPair, kTree, kSimple, 1 << 30),
              8.4 + 2 * (7 * 4 + 31.6 * 1.55) + (1 << 30) / 4600.0, 1e-6);
}

/// 2 x 8 H100: 25 us, two crossings of 2 + 18.5 us, 9/8 M over 78 % of 360 GB/s, and 16 MiB of it
/// once more. From 4 GiB on a GPU's links are at their speed; 16 MiB, 8 doublings less, take 21.6 %
/// more.
TEST(NcclBetween, TreesOverNvlsFillTheirPipeline) {
  const NcclGraph graph{.ranks = 16,
                        .nodes = 2,
                        .channels = 8,
                        .channel_gbps = 40,
                        .nvlink = true,
                        .compute_capability = 90,
                        .switch_gbps = 360,
                        .nvls_gbps = 320,
                        .network_us = 2,
                        .network_gbps = 400};
  const double per_byte = 1.125 / (.78 * 360e3);
  EXPECT_NEAR(us(graph, NcclAlgorithm::kNvls, kSimple, 1LL << 32),
              25 + 41 + (1LL << 32) * per_byte + (1 << 24) * per_byte * 1.216, 1e-6);
}

}  // namespace
}  // namespace steptime
