// Do kernels over NVLink take the time that their page states?
#include "netmodels/libraries/nccl_nvlink.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr auto kRing = NcclAlgorithm::kRing;
using Release = NcclTuning::Release;

/// 8 H100: c 4.72 us, k .761 us, B = 1.277 x 12 x 30 = 459.72 GB/s.
NcclGraph hopper(Operation operation) {
  return {.ranks = 8,
          .channels = 12,
          .channel_gbps = 30,
          .nvlink = true,
          .compute_capability = 90,
          .operation = operation};
}
double us(const NcclGraph& graph, NcclAlgorithm a, NcclProtocol p, double bytes) {
  return nccl_nvlink_us(graph, {.algorithm = a, .protocol = p}, bytes);
}

/// 14 steps of an all-reduce, 7 of an all-gather; nothing grows up to 8 KiB, from 64 KiB on a step
/// takes 1.347 times as long; half way, at 8 KiB x 2^1.5, 1.1735 times.
TEST(NcclNvlink, LlIsALineInItsSteps) {
  const NcclGraph all = hopper(Operation::kAllReduce);
  EXPECT_NEAR(us(all, kRing, NcclProtocol::kLl, 0), 4.72 + 14 * .761, 1e-9);
  EXPECT_NEAR(us(all, kRing, NcclProtocol::kLl, 65536),
              4.72 + 14 * .761 * 1.347 + 2.47 * 65536 / 459720, 1e-9);
  const double half = 8192 * 2.8284271247461903;
  EXPECT_NEAR(us(all, kRing, NcclProtocol::kLl, half),
              4.72 + 14 * .761 * 1.1735 + 2.47 * half / 459720, 1e-9);
  EXPECT_NEAR(us(hopper(Operation::kAllGather), kRing, NcclProtocol::kLl, 0), 4.72 + 7 * .761,
              1e-9);
}

/// A rank sends 7/8 of 8 MB in a reduce-scatter and 14/8 in an all-reduce; .374 of it is copied.
TEST(NcclNvlink, TheWholeBufferCostsBesideTheLinks) {
  const NcclGraph half = hopper(Operation::kReduceScatter);
  EXPECT_NEAR(us(half, kRing, NcclProtocol::kSimple, 8e6),
              4.72 + 14.1 * .761 + 3.64 * 7 * .761 + (7e6 + .374 * 8e6) / 459720, 1e-9);
  EXPECT_NEAR(us(hopper(Operation::kAllReduce), kRing, NcclProtocol::kLl128, 8e6),
              4.72 + 1.5 * .761 + 1.67 * 14 * .761 + (14e6 + .374 * 8e6) / (.716 * 459720), 1e-9);
}

TEST(NcclNvlink, NvlsCarriesTheBufferOnce) {
  EXPECT_NEAR(us(hopper(Operation::kAllReduce), NcclAlgorithm::kNvls, NcclProtocol::kSimple, 8e6),
              4.72 + 47 * .761 + 8e6 / (.494 * 459720), 1e-9);
}

/// 2 A100 and 2 B200 with an empty message: two steps.
TEST(NcclNvlink, AGenerationHasItsOwnNumbers) {
  NcclGraph pair = hopper(Operation::kAllReduce);
  pair.ranks = 2;
  pair.compute_capability = 80;
  EXPECT_NEAR(us(pair, kRing, NcclProtocol::kLl, 0), 8.49 + 2 * 1.085, 1e-9);
  pair.compute_capability = 100;
  EXPECT_NEAR(us(pair, kRing, NcclProtocol::kLl, 0), 8.06 + 2 * 1.076, 1e-9);
}

TEST(NcclNvlink, StandsForOneNodeFromAmpereOnAnd2_19) {
  NcclGraph graph = hopper(Operation::kAllReduce);
  EXPECT_TRUE(nccl_on_nvlink(NcclTuning(Release::k2_19_3), graph));
  EXPECT_FALSE(nccl_on_nvlink(NcclTuning(Release::k2_18_3), graph));
  graph.nodes = 2;
  EXPECT_FALSE(nccl_on_nvlink(NcclTuning(Release::k2_19_3), graph));
  graph.nodes = 1;
  graph.compute_capability = 70;
  EXPECT_FALSE(nccl_on_nvlink(NcclTuning(Release::k2_19_3), graph));
  graph.compute_capability = 90;
  graph.nvlink = false;
  EXPECT_FALSE(nccl_on_nvlink(NcclTuning(Release::k2_19_3), graph));
}

}  // namespace
}  // namespace steptime
