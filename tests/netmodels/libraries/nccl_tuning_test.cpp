// Are NCCL's estimates those of its published formula?
#include "netmodels/libraries/nccl_tuning.h"

#include "sim/config/json.h"

#include <cmath>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr auto kTree = NcclAlgorithm::kTree;
constexpr auto kRing = NcclAlgorithm::kRing;
constexpr auto kLl = NcclProtocol::kLl;
constexpr auto kLl128 = NcclProtocol::kLl128;
constexpr auto kSimple = NcclProtocol::kSimple;
using Release = NcclTuning::Release;

std::string pair_name(NcclAlgorithm a, NcclProtocol p) {
  return std::string(name(a)) + "/" + std::string(name(p));
}

/// tests/data/nccl_model.json: the formula of 2.7.8 evaluated by another program.
TEST(NcclTuning, Release2_7_8EqualsTheIndependentEvaluation) {
  const std::string file = STEPTIME_SOURCE_DIR "/tests/data/nccl_model.json";
  const Json model = parse_json(read_file(file), file);
  const NcclTuning tuning(Release::k2_7_8);
  int compared = 0;
  for (const Json& each : model.at("evaluation_2_7_8")) {
    const auto nodes = each.at("nNodes").get<std::int64_t>();
    const auto ranks = each.at("nRanks").get<std::int64_t>();
    const bool pcie = each.at("case").get<std::string>().find("PCIe") != std::string::npos;
    const NcclGraph graph{.ranks = ranks,
                          .nodes = nodes,
                          .channels = each.at("nChannels").get<std::int64_t>(),
                          .channel_gbps = each.at("speed_GBps").get<double>(),
                          .nvlink = !pcie};
    for (const auto& [bytes, row] : each.at("times_us").items()) {
      std::string best;
      double best_us = INFINITY;
      for (const auto a : {kTree, kRing}) {
        for (const auto p : {kLl, kLl128, kSimple}) {
          const std::string pair = pair_name(a, p);
          const NcclEstimate estimate = tuning.estimate(graph, a, p);
          const Json& stated = each.at("latency_us_and_algbw_GBps").at(pair);
          EXPECT_NEAR(estimate.latency_us, stated[0].get<double>(), 5e-4)
              << each.at("case") << pair;
          EXPECT_NEAR(estimate.algorithm_gbps, stated[1].get<double>(), 5.1e-4)
              << each.at("case") << pair;
          const double us = tuning.time_us(graph, a, p, std::stoll(bytes));
          EXPECT_EQ(us >= 0, row.contains(pair)) << each.at("case") << pair;
          if (us < 0) continue;
          EXPECT_NEAR(us, row.at(pair).get<double>(), 5.1e-3) << each.at("case") << pair << bytes;
          ++compared;
          if (us < best_us) {
            best = pair;
            best_us = us;
          }
        }
      }
      EXPECT_EQ(best, row.at("best").get<std::string>()) << each.at("case") << bytes;
    }
  }
  EXPECT_EQ(compared, 10 * (6 + 4 * 4));  // LL128 in the first of five cases only
}

const NcclGraph kQuad{.ranks = 4, .nodes = 1, .channels = 4, .channel_gbps = 22, .nvlink = true};

/// 4 V100, 4 rings of 22 GB/s. 2.12.12: ring LL128 10 + 6 x 1.9 = 21.4 us and
/// min(88 x .92, 4 x 20) x 4/6 = 53.33 GB/s; Simple 8.4 + 6 x 3.4 = 28.8 us and 58.67 GB/s. They
/// meet at 7.4 us / (1/53.33 - 1/58.67) = 4.34 MB.
TEST(NcclTuning, FourVoltaLeaveLl128Above4MiBIn2_12) {
  const NcclTuning tuning(Release::k2_12_12);
  EXPECT_NEAR(tuning.estimate(kQuad, kRing, kLl128).latency_us, 21.4, 1e-9);
  EXPECT_NEAR(tuning.estimate(kQuad, kRing, kLl128).algorithm_gbps, 80.0 * 4 / 6, 1e-9);
  EXPECT_NEAR(tuning.estimate(kQuad, kRing, kSimple).latency_us, 28.8, 1e-9);
  EXPECT_NEAR(tuning.estimate(kQuad, kRing, kSimple).algorithm_gbps, 88.0 * 4 / 6, 1e-9);
  const std::int64_t switched = 4'340'000;
  for (const std::int64_t bytes : {switched - 10'000, switched + 10'000}) {
    EXPECT_EQ(
        tuning.time_us(kQuad, kRing, kLl128, bytes) < tuning.time_us(kQuad, kRing, kSimple, bytes),
        bytes < switched)
        << bytes;
  }
}

/// 2.18.3: LL128 starts at 14 us; one node: trees x.85. Tree LL: 6.8 + 2 x 3 x .6 = 10.4 us,
/// min(88 x .92, 4 x 26.5) / 3.8 x .85 / 2 = 9.055 GB/s.
TEST(NcclTuning, Release2_18StartsLaterAndPenalisesPlainTrees) {
  const NcclTuning tuning(Release::k2_18_3);
  EXPECT_NEAR(tuning.estimate(kQuad, kRing, kLl128).latency_us, 14 + 6 * 1.9, 1e-9);
  EXPECT_NEAR(tuning.estimate(kQuad, kTree, kLl).latency_us, 10.4, 1e-9);
  EXPECT_NEAR(tuning.estimate(kQuad, kTree, kLl).algorithm_gbps, 80.96 / 3.8 * .85 / 2, 1e-9);
}

/// 2.5.7, 16 nodes of one GPU: every step of the ring counts as one over the network,
/// 8.4 + 30 x 6.6 = 206.4 us; 12.5 GB/s count as 12; no plateau.
TEST(NcclTuning, Release2_5CountsEveryStepAsNetwork) {
  const NcclTuning tuning(Release::k2_5_7);
  const NcclGraph graph{.ranks = 16, .nodes = 16, .channel_gbps = 12.5, .nvlink = true};
  EXPECT_NEAR(tuning.estimate(graph, kRing, kSimple).latency_us, 206.4, 1e-9);
  EXPECT_NEAR(tuning.estimate(graph, kRing, kSimple).algorithm_gbps, 12.0 * 16 / 30, 1e-9);
  EXPECT_NEAR(tuning.time_us(graph, kRing, kSimple, 64'000'000), 206.4 + 10000, 1e-6);
}

TEST(NcclTuning, Ll128NeedsATestedGpuWithNvlinkAndANearNic) {
  const auto enabled = [](Release release, NcclGraph graph) {
    return NcclTuning(release).estimate(graph, kRing, kLl128).algorithm_gbps > 0;
  };
  NcclGraph graph = kQuad;
  EXPECT_TRUE(enabled(Release::k2_5_7, graph));
  graph.compute_capability = 80;
  EXPECT_FALSE(enabled(Release::k2_5_7, graph));
  EXPECT_TRUE(enabled(Release::k2_7_8, graph));
  graph.compute_capability = 90;
  EXPECT_FALSE(enabled(Release::k2_12_12, graph));
  EXPECT_TRUE(enabled(Release::k2_18_3, graph));
  graph.compute_capability = 75;
  EXPECT_FALSE(enabled(Release::k2_18_3, graph));
  graph = kQuad;
  graph.nvlink = false;
  EXPECT_FALSE(enabled(Release::k2_12_12, graph));
  graph = kQuad;
  graph.nodes = 2;
  EXPECT_FALSE(enabled(Release::k2_12_12, graph));
  graph.nic_near_gpu = true;
  EXPECT_TRUE(enabled(Release::k2_12_12, graph));
}

/// Four rings are eight channels. LL: 512 threads of 8 x 4 B: 16 KiB a channel.
TEST(NcclTuning, FewBytesTakeFewChannels) {
  const auto channels = [](NcclProtocol p, std::int64_t bytes) {
    return NcclTuning(Release::k2_12_12).launch(kQuad, kRing, p, bytes).channels;
  };
  EXPECT_EQ(channels(kLl, 8 * 16384), 8);
  EXPECT_EQ(channels(kLl, 8 * 16384 - 1), 7);
  EXPECT_EQ(channels(kLl, 16384), 1);
  EXPECT_EQ(channels(kLl, 0), 1);
  // Simple: 512 threads of 64 B: 32 KiB a channel.
  EXPECT_EQ(channels(kSimple, 3 * 32768), 3);
}

/// 8 H100, 18 links of 20 GB/s: 8 channels of 40 GB/s, 320 x 5/6 GB/s from 23 us on. Two nodes:
/// 23 + 2 x 19 us and 320 x .7.
TEST(NcclTuning, NvlsNeedsHopperBehindAnNvswitchAnd2_18) {
  NcclGraph graph{.ranks = 8,
                  .channels = 12,
                  .channel_gbps = 30,
                  .nvlink = true,
                  .compute_capability = 90,
                  .switch_gbps = 360,
                  .nvls_gbps = 320};
  const auto estimate = [&](Release release, NcclProtocol p) {
    return NcclTuning(release).estimate(graph, NcclAlgorithm::kNvls, p);
  };
  EXPECT_NEAR(estimate(Release::k2_18_3, kSimple).algorithm_gbps, 320 * 5 / 6.0, 1e-9);
  EXPECT_NEAR(estimate(Release::k2_18_3, kSimple).latency_us, 23, 1e-9);
  EXPECT_EQ(estimate(Release::k2_18_3, kLl).algorithm_gbps, 0);
  EXPECT_EQ(estimate(Release::k2_12_12, kSimple).algorithm_gbps, 0);
  graph.nodes = 2;
  EXPECT_NEAR(estimate(Release::k2_18_3, kSimple).algorithm_gbps, 320 * .7, 1e-9);
  EXPECT_NEAR(estimate(Release::k2_18_3, kSimple).latency_us, 61, 1e-9);
  graph.nvls_gbps = 0;
  EXPECT_EQ(estimate(Release::k2_18_3, kSimple).algorithm_gbps, 0);
}

/// It came with 2.23: earlier releases have no entry for it in any table.
TEST(NcclTuning, PatIsNoAlgorithmOfReleasesBefore2_19) {
  for (const Release release :
       {Release::k2_5_7, Release::k2_7_8, Release::k2_12_12, Release::k2_18_3}) {
    for (const std::int64_t nodes : {1, 2, 8}) {
      const NcclGraph graph{.ranks = 8,
                            .nodes = nodes,
                            .channels = 2,
                            .channel_gbps = 12,
                            .operation = Operation::kAllGather};
      const NcclEstimate pat = NcclTuning(release).estimate(graph, NcclAlgorithm::kPat, kSimple);
      EXPECT_EQ(pat.latency_us, 0);
      EXPECT_EQ(pat.algorithm_gbps, 0);
      EXPECT_EQ(NcclTuning(release).time_us(graph, NcclAlgorithm::kPat, kSimple, 1 << 20), -1);
    }
  }
}

}  // namespace
}  // namespace steptime
