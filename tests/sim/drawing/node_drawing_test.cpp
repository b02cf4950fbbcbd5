#include "sim/drawing/node_drawing.h"

#include <cmath>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Where the picture places its vertices, in inches.
std::vector<std::pair<double, double>> places(const std::string& picture) {
  static const std::regex place(R"(  v\d+ \[.*pos="(-?[0-9.]+),(-?[0-9.]+)!")");
  std::vector<std::pair<double, double>> places;
  for (std::sregex_iterator it(picture.begin(), picture.end(), place), end; it != end; ++it)
    places.emplace_back(std::stod((*it)[1]), std::stod((*it)[2]));
  return places;
}

/// `gpus` GPUs in pairs behind switches, two sockets, a memory and a NIC at the first.
Topology server(int gpus) {
  Topology node;
  for (int g = 0; g < gpus; ++g)
    node.add_vertex("gpu" + std::to_string(g), VertexKind::kGpu);
  for (int p = 0; p < gpus / 2; ++p)
    node.add_vertex("plx" + std::to_string(p), VertexKind::kPcieSwitch);
  const auto cpu0 = node.add_vertex("cpu0", VertexKind::kSocket);
  const auto cpu1 = node.add_vertex("cpu1", VertexKind::kSocket);
  const auto memory = node.add_vertex("mem0", VertexKind::kHostMemory);
  const auto nic = node.add_vertex("nic0", VertexKind::kNic);
  for (int g = 0; g < gpus; ++g)
    node.add_link({g, gpus + g / 2, {}, {12e9}, 1, "pcie"});
  for (int p = 0; p < gpus / 2; ++p)
    node.add_link({gpus + p, p < gpus / 4 ? cpu0 : cpu1, {}, {12e9}, 1, "pcie"});
  node.add_link({cpu0, cpu1, {}, {10e9}, 1, "qpi"});
  node.add_link({cpu0, memory, {}, {76e9}, 1, "memory"});
  node.add_link({cpu0, nic, {}, {12e9}, 1, "pcie"});
  return node;
}

TEST(NodeDrawing, NothingStandsOnAnythingElse) {
  for (const int gpus : {2, 4, 8, 16}) {
    const auto at = places(drawing(server(gpus)));
    ASSERT_EQ(at.size(), server(gpus).vertices().size());
    for (std::size_t a = 0; a < at.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        // A box is 0.7 by 0.35 inches.
        const bool apart = std::abs(at[a].first - at[b].first) > 0.7 ||
                           std::abs(at[a].second - at[b].second) > 0.35;
        EXPECT_TRUE(apart) << gpus << " GPUs: " << a << " on " << b;
      }
    }
  }
}

TEST(NodeDrawing, ASwitchStandsBesideItsGpus) {
  const auto at = places(drawing(server(8)));
  const auto distance = [&](std::size_t a, std::size_t b) {
    return std::hypot(at[a].first - at[b].first, at[a].second - at[b].second);
  };
  for (std::size_t plx = 8; plx < 12; ++plx) {
    for (std::size_t gpu = 0; gpu < 8; ++gpu) {
      if (gpu / 2 == plx - 8) continue;
      EXPECT_LT(distance(plx, 2 * (plx - 8)), distance(plx, gpu));
    }
  }
}

TEST(NodeDrawing, IsGraphviz) {
  const std::string picture = drawing(server(2));
  EXPECT_EQ(picture.substr(0, 16), "graph machine {\n") << picture;
  EXPECT_EQ(picture.substr(picture.size() - 3), "\n}\n");
  EXPECT_NE(picture.find("  v0 [label=\"gpu0\", shape=box"), std::string::npos);
  EXPECT_NE(picture.find("  v3 -- v4 ["), std::string::npos);  // cpu0 -- cpu1
}

TEST(NodeDrawing, LinksSayHowBusyTheyAreThereAndBack) {
  const std::vector<LinkUse> uses{
      {.from = "cpu1", .to = "cpu0", .kind = "qpi", .bytes = 1, .busy = 0.831}};
  const std::string picture = drawing(server(4), uses);
  const auto label = picture.find("label=\"0 / 83 %\"");
  ASSERT_NE(label, std::string::npos) << picture;
  EXPECT_EQ(picture.rfind("  v6 -- v7 [", label), picture.rfind(" -- ", label) - 4);
  EXPECT_EQ(picture.find(" %\"", label + 20), std::string::npos);  // the others carry nothing
}

TEST(NodeDrawing, ANodeWithoutAGraphIsItsGpusOnASwitch) {
  Cluster cluster;
  cluster.gpus_per_node = 3;
  const Topology node = node_of(cluster);
  EXPECT_EQ(node.of_kind(VertexKind::kGpu).size(), 3U);
  EXPECT_EQ(node.links().size(), 4U);
}

/// That of NVLink stands in the middle of its GPUs, as it does where the links are known.
TEST(NodeDrawing, ASwitchOfNvlinkStandsInTheMiddle) {
  Cluster cluster;
  cluster.gpus_per_node = 3;
  cluster.gpus = GpuNode{.links = GpuNode::Links::kNvswitch};
  EXPECT_EQ(node_of(cluster).of_kind(VertexKind::kNvlinkSwitch).size(), 1U);
  EXPECT_EQ(places(drawing(node_of(cluster)))[0], std::pair(0., 0.));
}

TEST(NodeDrawing, OneVertexAlone) {
  Topology node;
  node.add_vertex("gpu0", VertexKind::kGpu);
  EXPECT_EQ(places(drawing(node)).size(), 1U);
}

TEST(NodeDrawing, APageGetsThePlacesAndTheLoad) {
  const std::vector<LinkUse> uses{
      {.from = "gpu0", .to = "plx0", .kind = "pcie", .bytes = 1, .busy = 0.25}};
  const Json shown = picture(server(2), uses);
  const auto at = places(drawing(server(2)));
  ASSERT_EQ(shown["vertices"].size(), at.size());
  for (std::size_t v = 0; v < at.size(); ++v)
    EXPECT_NEAR(shown["vertices"][v]["x"].get<double>(), at[v].first, 5e-4);
  EXPECT_EQ(shown["vertices"][0]["kind"], "gpu");
  const Json& link = shown["links"][0];
  EXPECT_EQ(link["there"], 0.25);
  EXPECT_EQ(link["back"], 0);
  EXPECT_EQ(link["GBps"], 12);
}

}  // namespace
}  // namespace steptime
