// Have the machines with NVLink the links that MXNet's own test of them lists?
#include "sim/network/machine.h"
#include "tests/support/presets.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Matrix = std::vector<std::vector<int>>;

/// Links between each pair of GPUs, of a matrix of weights: 2 is one NVLink, 3 two.
Matrix published(const std::string& key) {
  const std::string file = STEPTIME_TESTS_DIR "/data/nvlink_weights.json";
  Matrix links = parse_json(read_file(file), file).at(key).get<Matrix>();
  for (auto& row : links) {
    for (int& weight : row)
      weight = std::max(weight - 1, 0);
  }
  return links;
}

/// The first `gpus` rows and columns.
Matrix first(const Matrix& links, std::size_t gpus) {
  Matrix part(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(gpus));
  for (auto& row : part)
    row.resize(gpus);
  return part;
}

/// NVLinks from GPU to GPU in the graph of a node.
Matrix in_graph(const Topology& node) {
  const auto gpus = node.of_kind(VertexKind::kGpu);
  const auto number = [&](Topology::Vertex v) { return std::find(gpus.begin(), gpus.end(), v); };
  Matrix links(gpus.size(), std::vector<int>(gpus.size(), 0));
  for (const auto& link : node.links()) {
    const auto a = number(link.first);
    const auto b = number(link.second);
    if (link.kind != "nvlink" || a == gpus.end() || b == gpus.end()) continue;
    const auto i = static_cast<std::size_t>(a - gpus.begin());
    const auto j = static_cast<std::size_t>(b - gpus.begin());
    links[i][j] = links[j][i] = static_cast<int>(link.count);
  }
  return links;
}

void expect_links(const std::string& preset, const Matrix& links) {
  const Cluster cluster = preset_cluster(preset);
  EXPECT_EQ(cluster.gpus->matrix, links) << preset;
  EXPECT_EQ(in_graph(*cluster.node), links) << preset;
}

TEST(PresetLinks, OfTheHybridCubeMesh) {
  expect_links("p3.16xlarge", published("p3.16xlarge"));
  expect_links("dgx-1-v100", published("p3.16xlarge"));
  expect_links("dgx-1-p100", published("dgx-1-p100"));
}

TEST(PresetLinks, OfItsFirstGpus) {
  const Matrix links = preset_cluster("p3.16xlarge").gpus->matrix;
  EXPECT_EQ(first(links, 6), published("first 6 of p3.16xlarge"));
  EXPECT_EQ(first(links, 4), published("first 4 of p3.16xlarge"));
}

// 003: "double NVLink connections", "single NVLink connections", "PCI-E connection + CPU (10
// GB/s)"; a NVLink carries 23.94 GB/s (V100) or 18.31 GB/s (P100).
TEST(PresetLinks, MessagesTakeThem) {
  for (const std::int64_t gpus : {2, 4, 6, 8}) {
    for (const auto& [preset, one] :
         {std::pair("p3.16xlarge", 23.94e9), {"dgx-1-v100", 23.94e9}, {"dgx-1-p100", 18.31e9}}) {
      const Cluster cluster = preset_cluster(preset, 1, gpus);
      const Machine machine(cluster);
      for (Endpoint from = 0; from < gpus; ++from) {
        for (Endpoint to = 0; to < gpus; ++to) {
          if (from == to) continue;
          const int links =
              cluster.gpus->matrix[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
          std::vector<ChannelId> path;
          machine.route(from, to, path);
          double width = std::numeric_limits<double>::infinity();
          for (const ChannelId c : path)
            width = std::min(width, machine.channels()[c].bandwidth.bytes_per_second);
          EXPECT_DOUBLE_EQ(width, links > 0 ? one * links : 10e9)
              << preset << ": " << from << " to " << to;
          if (links > 0) {
            EXPECT_EQ(path.size(), 1U);
          }
        }
      }
    }
  }
}

TEST(PresetLinks, OfMinskyJoinPairs) {
  expect_links("minsky", {{0, 2, 0, 0}, {2, 0, 0, 0}, {0, 0, 0, 2}, {0, 0, 2, 0}});
}

}  // namespace
}  // namespace steptime
