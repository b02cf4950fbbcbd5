#include "sim/network/read_cluster.h"

#include "sim/core/error.h"
#include "sim/network/cluster.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"
#include "tests/support/scratch_file.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kSwitch =
    R"("network": {"type": "switch", "latency": "5 us", "bandwidth": "1 GB/s"})";

Cluster cluster_of(const std::string& json) {
  return read_cluster(config_of(json, cluster_params()));
}
std::string cluster_error(const std::string& json) {
  return message_of<InputError>([&] { cluster_of(json); });
}

TEST(Cluster, SpeltOut) {
  const Cluster c = cluster_of(std::string(R"({"nodes": 4, "gpus_per_node": 2, )") + kSwitch +
                               R"(, "intra_node": {"type": "switch", "latency": "1 us",
                                     "bandwidth": "25 GB/s"}, "reduction": "2 ns/B"})");
  EXPECT_EQ(c.nodes, 4);
  EXPECT_EQ(c.gpus_per_node, 2);
  EXPECT_EQ(c.workers(), 4 * 2);
  EXPECT_EQ(c.network.latency, Duration(5'000'000));
  EXPECT_EQ(c.network.bandwidth, Bandwidth{1e9});
  EXPECT_EQ(c.reduction, TimePerByte{2e-9});
}

/// A part of "gpus" over a preset leaves the rest as it is, in a file as by --set; the graph keeps
/// as many adapters.
TEST(Cluster, NicsOfAPresetCountForItsGraphToo) {
  const auto nics = [](const char* gpus) {
    const Cluster c =
        cluster_of(std::string(R"({"preset": "dgx-1-v100", "nodes": 2)") + gpus + "}");
    EXPECT_EQ(c.gpus->compute_capability, 70);
    EXPECT_EQ(c.gpus->matrix.size(), 8U);
    return std::ssize(c.node->of_kind(VertexKind::kNic));
  };
  EXPECT_EQ(nics(""), 4);
  EXPECT_EQ(nics(R"(, "gpus": {"nics": 4})"), 4);
  EXPECT_EQ(nics(R"(, "gpus": {"nics": 1})"), 1);
  EXPECT_EQ(cluster_error(R"({"preset": "dgx-1-v100", "nodes": 2, "gpus": {"nics": 5}})"),
            "x.json: /cluster/gpus/nics: expected at most the 4 of \"node\", got 5");
}

/// A preset of one machine without a graph says how many GPUs this has, as a graph would.
TEST(Cluster, APresetHasNoMoreGpusThanItsMachine) {
  const auto error = [](const char* preset, int gpus) {
    return cluster_error(
        fmt::format(R"({{"preset": "{}", "nodes": 2, "gpus_per_node": {}}})", preset, gpus));
  };
  for (const char* preset : {"p5.48xlarge", "h100-roce", "dgx-b300", "p4de.24xlarge"}) {
    EXPECT_EQ(error(preset, 64),
              fmt::format("x.json: /cluster/gpus_per_node: expected at most 8, as many GPUs as {} "
                          "has, got 64",
                          preset));
  }
  EXPECT_EQ(error("gb200-nvl72", 73),
            "x.json: /cluster/gpus_per_node: expected at most 72, as many GPUs as gb200-nvl72 has, "
            "got 73");
  EXPECT_EQ(cluster_of(R"({"preset": "h100-roce", "gpus_per_node": 4})").gpus_per_node, 4);
  EXPECT_EQ(cluster_of(R"({"preset": "h100-roce", "gpus_per_node": 16, "gpus": {"count": 16}})")
                .gpus_per_node,
            16);
}

TEST(Cluster, Defaults) {
  const Cluster c = cluster_of(std::string(R"({"nodes": 4, )") + kSwitch + "}");
  EXPECT_EQ(c.gpus_per_node, 1);
  EXPECT_EQ(c.reduction, TimePerByte{0});
  EXPECT_EQ(c.intra_node.latency, c.network.latency);
  EXPECT_EQ(c.intra_node.bandwidth, c.network.bandwidth);
}

TEST(Cluster, GpusOfANodeDoNotShareTheNetworksSpeedUnasked) {
  const std::string two = std::string(R"({"nodes": 1, "gpus_per_node": 2, )") + kSwitch;
  EXPECT_EQ(cluster_error(two + "}"),
            "x.json: /intra_node: required but missing: the 2 GPUs of a node do not have the "
            "network's speed; presets such as pcie-4, pcie-8, dgx-a100 have their links");
  EXPECT_NO_THROW(cluster_of(two + R"(, "gpus": {"links": "pcie", "link_bandwidth": "9 GB/s",
                                       "compute_capability": 70}})"));
}

/// gpu0 and gpu1 are joined by 200 GB/s, gpu2 hangs on their socket: a ring of all three goes twice
/// over two links of 12 GB/s, 0.5 + 0.6 us; two GPUs have the fast link alone. What the section
/// itself says of the inside stands.
TEST(Cluster, ADrawnNodesInsideIsThatOfItsRing) {
  const auto inside = [](int gpus, const char* more) {
    return cluster_of(fmt::format(
                          R"({{"nodes": 1, "gpus_per_node": {}, {}, "node": {{
      "vertices": [{{"name": "gpu0", "kind": "gpu"}}, {{"name": "gpu1", "kind": "gpu"}},
                   {{"name": "gpu2", "kind": "gpu"}}, {{"name": "cpu", "kind": "socket"}}],
      "links": [
        {{"ends": ["gpu0", "gpu1"], "latency": "1 us", "bandwidth": "200 GB/s", "kind": "nvlink"}},
        {{"ends": ["gpu0", "cpu"], "latency": "0.5 us", "bandwidth": "12 GB/s"}},
        {{"ends": ["gpu1", "cpu"], "latency": "0.5 us", "bandwidth": "12 GB/s"}},
        {{"ends": ["gpu2", "cpu"], "latency": "0.6 us", "bandwidth": "16 GB/s"}}]}}{}}})",
                          gpus, kSwitch, more))
        .intra_node;
  };
  EXPECT_EQ(inside(3, "").bandwidth, Bandwidth{12e9});
  EXPECT_EQ(inside(3, "").latency, Duration(1'100'000));
  EXPECT_EQ(inside(2, "").bandwidth, Bandwidth{200e9});
  EXPECT_EQ(inside(2, "").latency, Duration(1'000'000));
  EXPECT_EQ(inside(1, "").bandwidth, Bandwidth{1e9});  // nothing is inside: the network's
  const Link said =
      inside(3, R"(, "intra_node": {"type": "switch", "latency": "7 us", "bandwidth": "30 GB/s"})");
  EXPECT_EQ(said.bandwidth, Bandwidth{30e9});
  EXPECT_EQ(said.latency, Duration(7'000'000));
}

TEST(Cluster, LinksInsideANodeMayBeSlowerBesideKernels) {
  const std::string two = std::string(R"({"nodes": 3, "gpus_per_node": 2, )") + kSwitch;
  const Cluster cluster = cluster_of(two + R"(, "intra_node_beside_kernels": 2, "intra_node":
      {"type": "switch", "latency": "1 us", "bandwidth": "8 GB/s"}})");
  const Cluster slower = cluster.beside_kernels();
  EXPECT_EQ(slower.intra_node.bandwidth, Bandwidth{4e9});
  EXPECT_EQ(slower.intra_node.latency, cluster.intra_node.latency);
  EXPECT_EQ(slower.network.bandwidth, cluster.network.bandwidth);
  // Over the links that "gpus" or "node" say, too (cluster_test.cpp).
  EXPECT_EQ(cluster_of(two + R"(, "intra_node_beside_kernels": 2, "gpus": {"links": "pcie",
                                "link_bandwidth": "9 GB/s", "compute_capability": 70}})")
                .beside_kernels()
                .inside_slowdown,
            2);
}

TEST(Cluster, TheNetworkLimitsAsSoonAsThereAreTwoNodes) {
  const std::string rest = std::string(R"(, "gpus_per_node": 8, )") + kSwitch +
                           R"(, "intra_node": {"type": "switch", "latency": "1 us",
                                               "bandwidth": "25 GB/s"}})";
  EXPECT_EQ(cluster_of(R"({"nodes": 1)" + rest).bottleneck().latency, Duration(1'000'000));
  EXPECT_EQ(cluster_of(R"({"nodes": 1)" + rest).bottleneck().bandwidth, Bandwidth{25e9});
  EXPECT_EQ(cluster_of(R"({"nodes": 2)" + rest).bottleneck().latency, Duration(5'000'000));
}

// 5 us and 1 GB/s between NICs, 2 us and 0.5 GB/s from a GPU to its NIC.
TEST(Cluster, ClosedFormsCountTheWayToTheNic) {
  const std::string rest = std::string(R"(, )") + kSwitch + R"(, "node": {
      "vertices": [{"name": "g", "kind": "gpu"}, {"name": "n", "kind": "nic"}],
      "links": [{"ends": ["g", "n"], "latency": "2 us", "bandwidth": "0.5 GB/s"}]}})";
  const Cluster two = cluster_of(R"({"nodes": 2)" + rest);
  EXPECT_EQ(two.bottleneck().latency, Duration(9'000'000));
  EXPECT_EQ(two.bottleneck().bandwidth, Bandwidth{0.5e9});
  EXPECT_EQ(two.network.latency, Duration(5'000'000));  // what the fabric is made of
  EXPECT_EQ(cluster_of(R"({"nodes": 1)" + rest).between_nodes().latency, Duration(5'000'000));
}

TEST(Cluster, AGpuThatReachesNoNicIsAnError) {
  EXPECT_EQ(cluster_error(std::string(R"({"nodes": 2, )") + kSwitch + R"(, "node": {
      "vertices": [{"name": "g", "kind": "gpu"}, {"name": "n", "kind": "nic"}], "links": []}})"),
            "x.json: /cluster/node: no route from \"g\" to a NIC");
}

TEST(Cluster, ErrorsNameThePlace) {
  EXPECT_EQ(cluster_error(std::string("{") + kSwitch + "}"),
            "x.json: /nodes: required but missing");
  EXPECT_EQ(cluster_error(std::string(R"({"nodes": 0, )") + kSwitch + "}"),
            "x.json: /nodes: must be at least 1 and at most 10000000, got 0");
  EXPECT_EQ(cluster_error(std::string(R"({"nodes": 1, "gpus_per_node": 1025, )") + kSwitch + "}"),
            "x.json: /gpus_per_node: must be at least 1 and at most 1024, got 1025");
  EXPECT_EQ(cluster_error(R"({"nodes": 2})"), "x.json: /network: required but missing");
  EXPECT_EQ(cluster_error(std::string(R"({"nodes": 2, "reduction": "-1 s/B", )") + kSwitch + "}"),
            "x.json: /reduction: must not be negative, got \"-1 s/B\"");
}

// netmodels/presets/k80-10gbe.json: 45.25 us and 9 * 2^30 / 8 / 1.2 = 1006632960 B/s.
TEST(Cluster, APresetGivesWhatTheSectionDoesNot) {
  const Cluster c = cluster_of(R"({"preset": "k80-10gbe"})");
  EXPECT_EQ(c.nodes, 8);
  EXPECT_EQ(c.network.latency, Duration(45'250'000));
  EXPECT_EQ(c.network.bandwidth, Bandwidth{9.0 * (1 << 30) / 8 / 1.2});
  EXPECT_EQ(c.reduction, TimePerByte{2.5e-9});
}

TEST(Cluster, TheSectionOverridesItsPreset) {
  const Cluster c = cluster_of(R"({"preset": "k80-10gbe", "nodes": 64, "reduction": "0 s/B"})");
  EXPECT_EQ(c.nodes, 64);
  EXPECT_EQ(c.reduction, TimePerByte{0});
  EXPECT_EQ(c.network.latency, Duration(45'250'000));
}

TEST(Cluster, APresetIsKnownOrRefused) {
  const std::string message = cluster_error(R"({"preset": "k81"})");
  EXPECT_EQ(message.substr(0, 38), "x.json: /preset: unknown \"k81\"; known:") << message;
  EXPECT_NE(message.find("k80-10gbe"), std::string::npos) << message;
  EXPECT_EQ(cluster_error(R"({"preset": 1})"), "x.json: /preset: expected a string, got 1");
}

TEST(Cluster, AMistakeInAnOverrideIsAtItsPlaceInTheConfig) {
  static const Params wrapper{{.key = "cluster", .kind = Kind::kObject}};
  EXPECT_EQ(
      message_of<InputError>([] {
        read_cluster(config_of(R"({"cluster": {"preset": "k80-10gbe", "nodes": -1}})", wrapper)
                         .object("cluster", cluster_params()));
      }),
      "x.json: /cluster/nodes: must be at least 1 and at most 10000000, got -1");
}

/// Whose value it is says whose mistake it is.
TEST(Cluster, AMistakeInAPresetOfOnesOwnIsAtItsPlaceInThatFile) {
  const auto preset = [](const std::string& latency) {
    return R"({"format": "steptime-cluster", "version": 1, "help": "mine", "sources": {},
               "cluster": {"network": {"type": "switch", "latency": )" +
           latency + R"(, "bandwidth": "1 GB/s"}}})";
  };
  const ScratchFile wrong("wrong.json", preset(R"("5 uz")"));
  const auto error = [](const std::string& file, const std::string& more) {
    return cluster_error(R"({"preset": ")" + file + R"(", "nodes": 2)" + more + "}");
  };
  EXPECT_EQ(error(wrong.path(), ""),
            wrong.path() +
                ": /cluster/network/latency: \"5 uz\" is not a number followed by one of "
                "h, min, s, ms, us, ns, ps");
  EXPECT_EQ(error(wrong.path(), R"(, "network": {"type": "switch", "latency": 5})").substr(0, 33),
            "x.json: /cluster/network/latency:");
  const ScratchFile right("right.json", preset(R"("5 us")"));
  EXPECT_EQ(error(right.path(), R"(, "reduction": -2)").substr(0, 27),
            "x.json: /cluster/reduction:");
}

TEST(Cluster, EveryPresetReadsAndHasAHelpLine) {
  const auto presets = cluster_presets();
  ASSERT_FALSE(presets.empty());
  EXPECT_TRUE(std::is_sorted(presets.begin(), presets.end()));
  for (const auto& [name, help] : presets) {
    EXPECT_FALSE(help.empty()) << name;
    EXPECT_GE(cluster_of(R"({"preset": ")" + name + R"("})").workers(), 1) << name;
  }
}

}  // namespace
}  // namespace steptime
