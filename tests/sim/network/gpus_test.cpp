// Is the "gpus" section of a cluster read, and refused where it contradicts itself?
#include "sim/network/gpus.h"

#include "sim/core/error.h"
#include "sim/network/cluster.h"
#include "sim/network/read_cluster.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::string kPair = R"("links": "nvlink", "link_bandwidth": "22 GB/s",
    "compute_capability": 70, "matrix": [[0, 2], [2, 0]])";

GpuNode gpus(const std::string& text, std::int64_t used = 2) {
  return read_gpus(config_of("{" + text + "}", gpus_params()), used);
}
std::string error_of(const std::string& text, std::int64_t used = 2) {
  return message_of<InputError>([&] { gpus(text, used); });
}

TEST(Gpus, ReadsWhatIsStated) {
  const GpuNode node = gpus(kPair + R"(, "cpu": "amd", "nic_near_gpu": true, "launch": "5 us",
      "pcie_bandwidth": "10 GB/s")");
  EXPECT_EQ(node.links, GpuNode::Links::kNvlink);
  EXPECT_EQ(node.link_bandwidth.bytes_per_second, 22e9);
  EXPECT_EQ(node.matrix, (std::vector<std::vector<int>>{{0, 2}, {2, 0}}));
  EXPECT_EQ(node.compute_capability, 70);
  EXPECT_EQ(node.cpu, GpuNode::Cpu::kAmd);
  EXPECT_TRUE(node.nic_near_gpu);
  EXPECT_EQ(node.launch, Duration(5'000'000));
  EXPECT_EQ(node.pcie_bandwidth.bytes_per_second, 10e9);
}

TEST(Gpus, Defaults) {
  const GpuNode node = gpus(
      R"("links": "nvswitch", "links_per_gpu": 12, "link_bandwidth": "22 GB/s",
         "compute_capability": 80)");
  EXPECT_EQ(node.links_per_gpu, 12);
  EXPECT_EQ(node.cpu, GpuNode::Cpu::kIntel);
  EXPECT_FALSE(node.nic_near_gpu);
  EXPECT_EQ(node.launch, Duration{});
  EXPECT_EQ(node.pcie_bandwidth.bytes_per_second, 12e9);
}

TEST(Gpus, ErrorsPointAtTheKey) {
  const std::string head = R"("link_bandwidth": "22 GB/s", "compute_capability": 70, )";
  const std::string nvlink = head + R"("links": "nvlink", "matrix": )";
  EXPECT_EQ(error_of(head + R"("links": "nvlink")"),
            "x.json: /matrix: required with links \"nvlink\"");
  EXPECT_EQ(error_of(head + R"("links": "pcie", "matrix": [[0]])"),
            "x.json: /matrix: has no meaning with links \"pcie\"");
  EXPECT_EQ(error_of(head + R"("links": "nvswitch")"),
            "x.json: /links_per_gpu: required with links \"nvswitch\"");
  EXPECT_EQ(error_of(nvlink + "{\"a\": 1, \"b\": 2}"),
            "x.json: /matrix: expected a list of rows, got an object");
  EXPECT_EQ(error_of(nvlink + "[[0]]"), "x.json: /matrix: expected 2 to 64 rows, got 1");
  EXPECT_EQ(error_of(nvlink + "[[0, 1], 3]"),
            "x.json: /matrix: row 1: expected a list of 2 whole numbers");
  EXPECT_EQ(error_of(nvlink + "[[0, 1.5], [1.5, 0]]"),
            "x.json: /matrix: row 0, column 1: expected 0 to 64, got 1.5");
  EXPECT_EQ(error_of(nvlink + "[[1, 1], [1, 0]]"),
            "x.json: /matrix: row 0, column 0: expected 0, got 1");
  EXPECT_EQ(error_of(nvlink + "[[0, 1], [2, 0]]"),
            "x.json: /matrix: not symmetric: 2 links from 1 to 0, 1 back");
  EXPECT_EQ(error_of(kPair, 3),
            "x.json: /matrix: expected at least 3 rows, one for each GPU, got 2");
}

TEST(Gpus, AClusterHasThemWhenItSaysSo) {
  const std::string cluster = R"("nodes": 1, "gpus_per_node": 2,
      "network": {"type": "switch", "latency": "1 us", "bandwidth": "1 GB/s"},
      "intra_node": {"type": "switch", "latency": "1 us", "bandwidth": "1 GB/s"})";
  EXPECT_FALSE(read_cluster(config_of("{" + cluster + "}", cluster_params())).gpus.has_value());
  const Cluster with =
      read_cluster(config_of("{" + cluster + R"(, "gpus": {)" + kPair + "}}", cluster_params()));
  ASSERT_TRUE(with.gpus.has_value());
  EXPECT_EQ(with.gpus->matrix[0][1], 2);
}

}  // namespace
}  // namespace steptime
