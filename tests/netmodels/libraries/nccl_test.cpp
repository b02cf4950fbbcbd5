// Does the collective take the time that its page states?
#include "sim/collective/collective.h"
#include "sim/collective/path.h"
#include "sim/core/error.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"
#include "tests/support/presets.h"

#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

Cluster pcie(std::int64_t nodes, std::int64_t gpus) {
  Cluster cluster{.nodes = nodes,
                  .gpus_per_node = gpus,
                  .network = {Duration{}, Bandwidth{4e9}},
                  .intra_node = {Duration{}, Bandwidth{10e9}}};
  cluster.gpus =
      GpuNode{.pcie_bandwidth = {2e9}, .compute_capability = 75, .launch = Duration{5'000'000}};
  return cluster;
}

std::unique_ptr<Collective> nccl(const Cluster& cluster, const std::string& more) {
  return make<Collective>(R"({"type": "nccl")" + more + "}", cluster);
}
double us(const Collective& collective, std::int64_t bytes) {
  return to_seconds(collective.time(Bytes{bytes})) * 1e6;
}
std::string error_of(const std::string& more) {
  return message_of<InputError>([&] { nccl(pcie(1, 8), more); });
}

/// 2.4.8, 8 GPUs, one PCIe ring of 2 GB/s, launch 5 us. LL: 3.6 us, then 15 times 1 us and a chunk
/// of M / 8 at half the bandwidth; Simple: 8.4 us, then 14/8 M / 2 GB/s or half of it and 14 x 5.7.
TEST(Nccl, OldReleasesRunAChainOfChunks) {
  const auto collective = nccl(pcie(1, 8), R"(, "version": "2.4.8")");
  EXPECT_NEAR(us(*collective, 0), 5 + 3.6 + 15, 1e-6);
  EXPECT_NEAR(us(*collective, 65536), 5 + 3.6 + 15 * (1 + 8.192), 1e-6);
  EXPECT_NEAR(us(*collective, 1'000'000), 5 + 8.4 + 875, 1e-6);
  EXPECT_EQ(collective->choice(Bytes{65536}), "Ring/LL x1");
  EXPECT_EQ(collective->choice(Bytes{1'000'000}), "Ring/Simple x1");
  EXPECT_EQ(collective->startup(), collective->time(Bytes{0}));
  EXPECT_FALSE(collective->linear().has_value());
}

/// Beside kernels, say, where a byte takes twice as long: 14/8 M / 1 GB/s, all else as above. Over
/// NVSwitch, too, whether rings move the data or the switch adds up; start-ups stay.
TEST(Nccl, LinksInsideANodeMayBeSlower) {
  Cluster cluster = pcie(1, 8);
  cluster.inside_slowdown = 2;
  EXPECT_NEAR(us(*nccl(cluster, R"(, "version": "2.4.8")"), 1'000'000), 5 + 8.4 + 1750, 1e-6);
  for (const char* algorithm : {"ring", "nvls"}) {
    const std::string more = fmt::format(R"(, "algorithm": "{}", "protocol": "simple")", algorithm);
    Cluster h100 = preset_cluster("dgx-h100", 1, 8);
    const double first = us(*nccl(h100, more), 1 << 28) - us(*nccl(h100, more), 0);
    const double startup = us(*nccl(h100, more), 0);
    h100.inside_slowdown = 2;
    EXPECT_NEAR(us(*nccl(h100, more), 0), startup, 1e-6);
    EXPECT_NEAR(us(*nccl(h100, more), 1 << 28) - startup, 2 * first, 1e-6 * first) << algorithm;
  }
}

/// LL ends at 128 KiB with 5 + 3.6 + 15 x (1 + 16.384) = 269.36 us; Simple would begin with 5 + 8.4
/// + 114.688 / 2 + 79.8 = 150.5 us.
TEST(Nccl, ATimeDoesNotFallWhereTheProtocolChanges) {
  const auto collective = nccl(pcie(1, 8), R"(, "version": "2.3.7")");
  EXPECT_NEAR(us(*collective, 131072), 269.36, 1e-6);
  EXPECT_NEAR(us(*collective, 131073), 269.36, 1e-6);
  EXPECT_EQ(collective->choice(Bytes{131073}), "Ring/Simple x1");
}

Cluster nvswitch(std::int64_t nodes, std::int64_t gpus, std::int64_t links, std::int64_t cc) {
  Cluster cluster = pcie(nodes, gpus);
  cluster.gpus->links = GpuNode::Links::kNvswitch;
  cluster.gpus->links_per_gpu = links;
  cluster.gpus->link_bandwidth = {20e9};
  cluster.gpus->compute_capability = cc;
  return cluster;
}

TEST(Nccl, NoTimeFallsAnywhere) {
  for (const std::string version : {"2.3.7", "2.4.8", "2.5.7", "2.7.8", "2.12.12", "2.18.3",
                                    "2.19.3", "2.21.5", "2.23.4", "2.27.3", "2.28.9", "2.30.3"}) {
    for (const std::int64_t nodes : {1, 2, 4, 16}) {
      for (const std::int64_t gpus : {1, 8}) {
        for (const Cluster& cluster :
             {pcie(nodes, gpus), nvswitch(nodes, gpus, 12, 80), nvswitch(nodes, gpus, 18, 90),
              nvswitch(nodes, gpus, 36, 100)}) {
          const auto collective = nccl(cluster, R"(, "version": ")" + version + '"');
          Duration last{};
          for (std::int64_t bytes = 0; bytes < (1LL << 36); bytes += 1 + bytes / 47) {
            ASSERT_GE(collective->time(Bytes{bytes}), last) << version << nodes << gpus << bytes;
            last = collective->time(Bytes{bytes});
          }
        }
      }
    }
  }
}

/// A process that starts 8 kernels, 5 us each, cannot do so more often than every 40 us, and does
/// so while the kernels before them run.
TEST(Nccl, OneProcessStartsItsGpusInTurn) {
  const auto collective = nccl(pcie(1, 8), R"(, "version": "2.4.8", "gpus_per_process": 8)");
  EXPECT_NEAR(us(*collective, 8), 40, 1e-6);
  EXPECT_NEAR(us(*collective, 65536), 3.6 + 15 * (1 + 8.192), 1e-6);
}

/// From 2.9 on what 64 KiB take beyond an empty kernel's 18.6 us comes on top of the 40 us.
TEST(Nccl, NewerReleasesAddTheBytesToTheLaunches) {
  const auto one = nccl(pcie(1, 8), R"(, "version": "2.12.12")");
  const auto all = nccl(pcie(1, 8), R"(, "version": "2.12.12", "gpus_per_process": 8)");
  EXPECT_NEAR(us(*all, 0), 40, 1e-6);
  EXPECT_NEAR(us(*all, 65536) - 40, us(*one, 65536) - us(*one, 0), 1e-6);
}

/// 2 x 1 GPUs on TCP with 1 GB/s a connection and 3 GB/s a host: a ring is used twice, so that one
/// socket a channel makes 2 GB/s, four the host's 3 GB/s. Two nodes send M each.
TEST(Nccl, SocketsAddUpOnTcp) {
  Cluster cluster = pcie(2, 1);
  const std::shared_ptr<const NetworkKind> tcp = make<NetworkKind>(
      R"({"type": "tcp", "bandwidth": "100 Gbps", "latency": "30 us", "connection": "1 GB/s",
          "host": "3 GB/s"})");
  cluster.kind = tcp;
  cluster.network = tcp->link(2);
  const auto gbps = [&](const char* more) {
    const auto collective =
        nccl(cluster, R"(, "algorithm": "ring", "protocol": "simple")" + std::string(more));
    return 1e6 / (us(*collective, 2'000'000'000) - us(*collective, 1'000'000'000));
  };
  EXPECT_NEAR(gbps(""), 2, 1e-6);
  EXPECT_NEAR(gbps(R"(, "sockets": 4)"), 3, 1e-6);
}

TEST(Nccl, NvlsIsTakenWhereItIsFastest) {
  const auto choice = [](std::int64_t nodes, std::int64_t gpus, const char* version) {
    return nccl(nvswitch(nodes, gpus, 18, 90), std::string(R"(, "version": ")") + version + '"')
        ->choice(Bytes{1 << 30});
  };
  EXPECT_EQ(choice(1, 8, "2.18.3"), "NVLS/Simple x16");
  EXPECT_EQ(choice(1, 8, "2.12.12"), "Ring/Simple x24");
  // 4 GPUs: 240 x 5/6 = 200 GB/s against 360 x 4/6 = 240 GB/s.
  EXPECT_EQ(choice(1, 4, "2.18.3"), "Ring/Simple x24");
  EXPECT_EQ(nccl(nvswitch(1, 4, 18, 90), R"(, "version": "2.18.3", "algorithm": "nvls")")
                ->choice(Bytes{8}),
            "NVLS/Simple x16");
}

/// 2 nodes of 8 GPUs with NVLink in sight: 2.4 takes trees. One channel of 2 x 0.5 = 1 GB/s:
/// reduce, then broadcast, 2 M / B; latency 8.4 + 2 (7 x 4 + 1.55 x 11.6) = 100.36 us.
TEST(Nccl, ATreeOfOneChannelCarriesTheMessageTwice) {
  Cluster cluster = pcie(2, 8);
  cluster.gpus->launch = {};
  cluster.gpus->links = GpuNode::Links::kNvlink;
  cluster.gpus->link_bandwidth = {22e9};
  cluster.gpus->matrix = std::vector<std::vector<int>>(8, std::vector<int>(8, 1));
  const auto collective =
      nccl(cluster, R"(, "version": "2.4.7", "sockets": 2, "socket_bandwidth": "0.5 GB/s")");
  EXPECT_EQ(collective->choice(Bytes{1 << 30}), "Tree/Simple x1");
  EXPECT_NEAR(us(*collective, 1'000'000'000), 100.36 + 2e6, 1e-3);
}

TEST(Nccl, AlgorithmProtocolAndChannelsCanBeForced) {
  const auto collective =
      nccl(pcie(1, 8),
           R"(, "version": "2.7.8", "algorithm": "tree", "protocol": "simple", "channels": 2,
               "channel_bandwidth": "10 GB/s")");
  // Tree, Simple: 2 x 7 x 28 us; 2 x 10 x .9 / 2 GB/s; at 512 MiB no correction.
  EXPECT_NEAR(us(*collective, 1LL << 29), 5 + 392 + (1LL << 29) / 9000.0, 1e-3);
  EXPECT_EQ(collective->choice(Bytes{1LL << 29}), "Tree/Simple x4");
}

TEST(Nccl, MoreNodesAreNeverFasterThanOne) {
  for (const char* preset : {"p3.16xlarge", "dgx-1-v100", "dgx-a100", "dgx-h100"}) {
    for (const char* version : {"2.4.8", "2.7.8", "2.12.12", "2.18.3", "2.27.3"}) {
      const std::string json = fmt::format(R"({{"type": "nccl", "version": "{}"}})", version);
      const auto one = make<Collective>(json, preset_cluster(preset, 1, 8));
      for (const std::int64_t nodes : {2, 3}) {
        const auto several = make<Collective>(json, preset_cluster(preset, nodes, 8));
        for (std::int64_t bytes = 0; bytes < (1LL << 32); bytes += 8 + bytes / 3)
          EXPECT_GE(several->time(Bytes{bytes}), one->time(Bytes{bytes}))
              << preset << ' ' << version << ' ' << nodes << " nodes, " << bytes << " B";
      }
    }
  }
}

/// Inside a node all of them take rings, and half the steps take less time.
TEST(Nccl, AllGathersAndReduceScattersAreHalvesOfAnAllReduce) {
  for (const char* version : {"2.5.7", "2.12.12", "2.18.3", "2.23.4", "2.30.3"}) {
    for (const Cluster& cluster : {pcie(1, 8), nvswitch(1, 8, 12, 80), nvswitch(1, 8, 18, 90)}) {
      const auto of = [&](const char* operation) {
        return nccl(cluster,
                    fmt::format(R"(, "version": "{}", "operation": "{}")", version, operation));
      };
      const auto all = of("all-reduce");
      for (const char* half : {"all-gather", "reduce-scatter"}) {
        const auto one = of(half);
        for (const std::int64_t bytes : {8, 65536, 1 << 20, 1 << 28})
          EXPECT_LT(one->time(Bytes{bytes}), all->time(Bytes{bytes})) << version << bytes;
      }
      EXPECT_EQ(of("all-gather")->operation(), Operation::kAllGather);
      EXPECT_EQ(of("reduce-scatter")->operation(), Operation::kReduceScatter);
    }
  }
  EXPECT_EQ(
      error_of(R"(, "version": "2.4.8", "operation": "all-gather")"),
      "x.json: /collective/operation: NCCL 2.4 publishes no estimate of it, the first release "
      "that does is 2.5");
}

/// PAT is faster than a ring over many nodes of one GPU each for few bytes.
TEST(Nccl, PatIsTakenBetweenNodesOfOneGpu) {
  const auto choice = [](const char* version) {
    return nccl(pcie(64, 1), fmt::format(R"(, "version": "{}", "operation": "all-gather",
                                            "protocol": "simple")",
                                         version))
        ->choice(Bytes{1 << 20});
  };
  EXPECT_EQ(choice("2.21.5").substr(0, 4), "Ring");
  EXPECT_EQ(choice("2.24.3").substr(0, 3), "PAT");
}

/// 2.12 has no kernels for Hopper; without a version there are.
TEST(Nccl, SaysWhenAReleaseCannotHaveRun) {
  const Cluster node = preset_cluster("dgx-h100", 1, 8);
  EXPECT_EQ(nccl(node, R"(, "version": "2.12.12")")->outside_domain(Bytes{1}),
            "NCCL 2.12 has no kernels for GPUs of compute capability 9.0: the first release that "
            "has is 2.15");
  EXPECT_EQ(nccl(node, "")->outside_domain(Bytes{1}), "");
  EXPECT_NE(
      nccl(preset_cluster("b200", 1, 8), R"(, "version": "2.24.3")")->outside_domain(Bytes{1}), "");
  EXPECT_EQ(nccl(preset_cluster("b200", 1, 8), "")->outside_domain(Bytes{1}), "");
  // Nothing was measured of Blackwell between nodes, of 72 GPUs, and of eight L40S.
  EXPECT_NE(nccl(preset_cluster("b200", 2, 8), "")->outside_domain(Bytes{1}), "");
  EXPECT_NE(nccl(preset_cluster("gb200-nvl72", 1, 72), "")->outside_domain(Bytes{1}), "");
  EXPECT_EQ(nccl(preset_cluster("l40s", 1, 4), "")->outside_domain(Bytes{1 << 20}), "");
  EXPECT_NE(nccl(preset_cluster("l40s", 1, 4), "")->outside_domain(Bytes{(1 << 20) - 1}), "");
  EXPECT_NE(nccl(preset_cluster("l40s", 1, 8), "")->outside_domain(Bytes{1 << 20}), "");
}

/// 12 rings of 20 GB/s on 8 A100, 6 of 60 halved on H100, 8 of 90 halved on B200.
TEST(Nccl, SaysWhatItRunsOverAndByWhichRules) {
  const auto path = [](const char* preset, std::int64_t nodes, const char* version) {
    const auto collective =
        nccl(preset_cluster(preset, nodes, 8), fmt::format(R"(, "version": "{}")", version));
    return dynamic_cast<const HasPath&>(*collective).path();
  };
  EXPECT_EQ(path("dgx-a100", 1, "2.20.5").rules, "NCCL 2.20.5 by the rules of 2.19.3");
  EXPECT_EQ(path("dgx-a100", 1, "2.4.7").rules, "NCCL 2.4.7 by the rules of 2.4.8");
  EXPECT_EQ(path("dgx-a100", 1, "2.20.5").links, "12 rings over NVLink");
  EXPECT_EQ(path("dgx-h100", 1, "2.29.2").links, "12 rings over NVLink");
  EXPECT_EQ(path("b200", 1, "2.28.9").links, "16 rings over NVLink");
  EXPECT_EQ(path("b200", 1, "2.28.9").adapters, 0);
  EXPECT_EQ(path("dgx-a100", 2, "2.20.5").adapters, 8);
  EXPECT_EQ(path("p4de.24xlarge", 2, "2.27.7").adapters, 4);
  EXPECT_EQ(path("dgx-1-v100", 2, "2.7.8").adapters, 4);
}

/// Links that nobody called NVLink are not called PCIe either: what a ring gets of them is said,
/// and whose latencies NCCL's estimates have for it.
TEST(Nccl, WithoutGpusItNamesWhatItRunsOverByItsSpeed) {
  const auto links = [](const Cluster& cluster) {
    return dynamic_cast<const HasPath&>(*nccl(cluster, "")).path().links;
  };
  const std::string why = ", with latencies of PCIe as there are no \"gpus\"";
  Cluster cluster{.nodes = 1, .gpus_per_node = 4};
  cluster.intra_node = {Duration{1'000'000}, {300e9}};
  EXPECT_EQ(links(cluster), "1 ring over links of 300 GB/s" + why);
  cluster.nodes = 2;
  cluster.network = {Duration{3'000'000}, {12.5e9}};
  EXPECT_EQ(links(cluster), "1 ring over links of 300 GB/s" + why);  // of each node
}

TEST(Nccl, ALoneGpuNeedsNoTime) {
  EXPECT_EQ(nccl(pcie(1, 1), "")->time(Bytes{1000}), Duration{});
  EXPECT_EQ(nccl(pcie(1, 1), "")->choice(Bytes{1000}), "");
}

TEST(Nccl, UnlistedReleasesBehaveAsTheOneBefore) {
  const auto same = [](const char* x, const char* y) {
    const auto of = [](const char* version) {
      return nccl(pcie(4, 8), std::string(R"(, "version": ")") + version + '"')
          ->time(Bytes{1 << 22});
    };
    return of(x) == of(y);
  };
  EXPECT_TRUE(same("2.4.2", "2.4.8"));
  EXPECT_TRUE(same("2.6.4", "2.5.7"));
  EXPECT_TRUE(same("2.11.4", "2.7.8"));
  EXPECT_TRUE(same("2.17", "2.12.12"));
  const auto choice = [](const char* version) {
    return nccl(nvswitch(1, 8, 18, 90), std::string(R"(, "version": ")") + version + '"')
        ->choice(Bytes{1 << 30});
  };
  EXPECT_NE(choice("2.17"), choice("2.18"));
  EXPECT_TRUE(same("2.20.5", "2.19.3"));
  EXPECT_TRUE(same("2.22.3", "2.21.5"));
  EXPECT_TRUE(same("2.26.2", "2.25.1"));
  EXPECT_TRUE(same("2.30.7", "2.30.3"));
}

TEST(Nccl, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(error_of(R"(, "version": "2.2.13")"),
            "x.json: /collective/version: expected a release of NCCL from 2.3 to 2.30 (known: "
            "2.3.7, 2.4.8, 2.5.7, 2.7.8, 2.12.12, 2.18.3, 2.19.3, 2.21.5, 2.23.4, 2.24.3, 2.25.1, "
            "2.27.3, 2.28.3, 2.28.9, 2.29.2, 2.29.7, 2.30.3, each up to the next), got \"2.2.13\"");
  for (const char* version : {"", "2", "2.", "2.x", "2.12.12.1", "3.0", "-2.12", "2.31.0"})
    EXPECT_NE(error_of(std::string(R"(, "version": ")") + version + '"'), "no error") << version;
  EXPECT_EQ(error_of(R"(, "sockets": 4)"),
            "x.json: /collective: expected both or neither of \"sockets\" and "
            "\"socket_bandwidth\"");
  EXPECT_EQ(error_of(R"(, "protocol": "ll128")"),
            "x.json: /collective/protocol: expected one that NCCL uses for this operation on this "
            "cluster (auto, ll, simple), got \"ll128\"");
}

/// The key that no change of the other one would make right is the one that is named. A PCIe node
/// has no NVSwitch, an all-reduce no PAT, an all-gather no trees, 2.4 no LL128, NVLS no LL.
TEST(Nccl, AnAlgorithmThatDoesNotFitIsNamed) {
  const auto algorithm = [](const char* words, const char* got) {
    return fmt::format(
        "x.json: /collective/algorithm: expected one that NCCL uses for this operation on this "
        "cluster ({}), got \"{}\"",
        words, got);
  };
  EXPECT_EQ(error_of(R"(, "algorithm": "nvls")"), algorithm("auto, ring, tree", "nvls"));
  EXPECT_EQ(error_of(R"(, "algorithm": "nvls", "protocol": "ll")"),
            algorithm("auto, ring, tree", "nvls"));
  EXPECT_EQ(error_of(R"(, "algorithm": "pat")"), algorithm("auto, ring, tree", "pat"));
  EXPECT_EQ(error_of(R"(, "algorithm": "tree", "operation": "all-gather")"),
            algorithm("auto, ring", "tree"));
  EXPECT_EQ(error_of(R"(, "algorithm": "pat", "version": "2.4.8")"),
            algorithm("auto, ring, tree", "pat"));
  EXPECT_EQ(error_of(R"(, "algorithm": "tree", "protocol": "ll128", "version": "2.4.8")"),
            "x.json: /collective/protocol: expected one that NCCL uses for this operation on this "
            "cluster (auto, ll, simple), got \"ll128\"");
  EXPECT_EQ(message_of<InputError>([] {
              nccl(preset_cluster("dgx-h100", 1, 8), R"(, "algorithm": "nvls", "protocol": "ll")");
            }),
            "x.json: /collective/protocol: expected one that NCCL uses for this operation on this "
            "cluster (auto, simple), got \"ll\"");
}

}  // namespace
}  // namespace steptime
