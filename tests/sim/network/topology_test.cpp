#include "sim/network/topology.h"

#include "sim/core/error.h"

#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

using Path = std::vector<ChannelId>;
constexpr Duration kMicro = std::chrono::microseconds(1);

//   gpu0 ---pcie--- plx ---pcie--- gpu1       links: 0 gpu0-plx, 1 plx-gpu1, 2 gpu0-gpu1 (NVLink),
//     \______nvlink______/          |                3 gpu1-gpu2 (NVLink), 4 plx-gpu2
//                      nvlink ---- gpu2
Topology small() {
  Topology t;
  const auto gpu0 = t.add_vertex("gpu0", VertexKind::kGpu);
  const auto plx = t.add_vertex("plx", VertexKind::kPcieSwitch);
  const auto gpu1 = t.add_vertex("gpu1", VertexKind::kGpu);
  const auto gpu2 = t.add_vertex("gpu2", VertexKind::kGpu);
  t.add_link({gpu0, plx, kMicro, {12e9}});
  t.add_link({plx, gpu1, kMicro, {12e9}});
  t.add_link({gpu0, gpu1, kMicro, {20e9}});
  t.add_link({gpu1, gpu2, kMicro, {20e9}});
  t.add_link({plx, gpu2, kMicro, {12e9}});
  return t;
}

Topology::Paths routes(const Topology& t, Topology::Vertex from, RouteMetric metric) {
  return t.routes_from({&from, 1}, metric).front();
}

TEST(Topology, ShortestRoutes) {
  const Topology t = small();
  const auto from_gpu0 = routes(t, 0, RouteMetric::kShortest);
  EXPECT_EQ(from_gpu0[0], Path{});
  EXPECT_EQ(from_gpu0[2], Path{4});  // the NVLink, first to second end
  EXPECT_EQ(routes(t, 2, RouteMetric::kShortest)[0], Path{5});
}

TEST(Topology, GpusDoNotPassMessagesOn) {
  // gpu0 to gpu2 over gpu1 would be as short and wider, but only the PCIe switch forwards.
  const Topology t = small();
  EXPECT_EQ(routes(t, 0, RouteMetric::kShortest)[3], (Path{0, 8}));
  EXPECT_EQ(routes(t, 0, RouteMetric::kWidest)[3], (Path{0, 8}));
}

TEST(Topology, WidestRoutes) {
  // a --1 us, 1 GB/s-- b, and a -- s -- b with 5 us and 10 GB/s each.
  Topology t;
  const auto a = t.add_vertex("a", VertexKind::kGpu);
  const auto b = t.add_vertex("b", VertexKind::kGpu);
  const auto s = t.add_vertex("s", VertexKind::kSocket);
  t.add_link({a, b, kMicro, {1e9}});
  t.add_link({a, s, 5 * kMicro, {10e9}});
  t.add_link({s, b, 5 * kMicro, {10e9}});
  EXPECT_EQ(routes(t, a, RouteMetric::kShortest)[1], Path{0});
  const Path wide = routes(t, a, RouteMetric::kWidest)[1];
  EXPECT_EQ(wide, (Path{2, 4}));
  EXPECT_EQ(t.latency(wide), 10 * kMicro);
  EXPECT_EQ(t.bandwidth(wide).bytes_per_second, 10e9);
}

// Of two links side by side the one is wider and the other shorter. Behind a link of 1 GB/s both
// are wide enough, so that the shorter one is the way; without it the wider one is.
TEST(Topology, OfLinksSideBySideTheOneThatMakesTheBetterWay) {
  Topology t;
  const auto a = t.add_vertex("a", VertexKind::kGpu);
  const auto s = t.add_vertex("s", VertexKind::kSocket);
  const auto b = t.add_vertex("b", VertexKind::kGpu);
  t.add_link({a, s, kMicro, {1e9}});
  t.add_link({s, b, 5 * kMicro, {20e9}});
  t.add_link({s, b, kMicro, {10e9}});
  EXPECT_EQ(routes(t, a, RouteMetric::kWidest)[2], (Path{0, 4}));
  EXPECT_EQ(routes(t, s, RouteMetric::kWidest)[2], Path{2});
}

TEST(Topology, ManySourcesAtOnce) {
  const Topology t = small();
  const std::vector<Topology::Vertex> both{0, 2};
  const auto all = t.routes_from(both, RouteMetric::kShortest);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0], routes(t, 0, RouteMetric::kShortest));
  EXPECT_EQ(all[1], routes(t, 2, RouteMetric::kShortest));
}

TEST(Topology, UnreachableVerticesHaveNoRoute) {
  Topology t;
  t.add_vertex("a", VertexKind::kGpu);
  t.add_vertex("b", VertexKind::kGpu);
  EXPECT_TRUE(routes(t, 0, RouteMetric::kShortest)[1].empty());
}

TEST(Topology, EveryLinkIsTwoChannels) {
  const auto channels = small().channels();
  ASSERT_EQ(channels.size(), 10U);
  EXPECT_EQ(channels[4].bandwidth.bytes_per_second, 20e9);
  EXPECT_EQ(channels[5].latency, kMicro);
}

Topology read(const std::string& text) {
  static const Params wrapper{{.key = "node", .kind = Kind::kObject}};
  const Config config(std::make_shared<Document>(Document{"x.json", parse_json(text, "x.json")}),
                      wrapper);
  return read_topology(config.object("node", topology_params()));
}

std::string message(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Topology, IsReadFromAConfig) {
  const Topology t = read(R"({"node": {
    "vertices": [{"name": "g", "kind": "gpu"}, {"name": "n", "kind": "nic"}],
    "links": [{"ends": ["g", "n"], "latency": "2 us", "bandwidth": "10 GB/s", "count": 2,
               "kind": "pcie"}]}})");
  ASSERT_EQ(t.links().size(), 1U);
  EXPECT_EQ(t.links()[0].latency, 2 * kMicro);
  EXPECT_EQ(t.links()[0].bandwidth.bytes_per_second, 20e9);  // parallel links add up
  EXPECT_EQ(t.of_kind(VertexKind::kNic), std::vector<Topology::Vertex>{1});
  EXPECT_EQ(name_of(t.vertices()[1].kind), "nic");
}

TEST(Topology, NamesWhatIsWrong) {
  const std::string vertices =
      R"("vertices": [{"name": "g", "kind": "gpu"}, {"name": "h", "kind": "gpu"}])";
  EXPECT_EQ(message(R"({"node": {"vertices": [{"name": "g", "kind": "gpu"},
                                              {"name": "g", "kind": "nic"}], "links": []}})"),
            "x.json: /node/vertices/1/name: \"g\" is there twice");
  EXPECT_EQ(message(R"({"node": {)" + vertices +
                    R"(, "links": [{"ends": ["g", "x"], "bandwidth": "1 GB/s"}]}})"),
            "x.json: /node/links/0/ends: no vertex is named \"x\"");
  EXPECT_EQ(message(R"({"node": {)" + vertices +
                    R"(, "links": [{"ends": ["g", "g"], "bandwidth": "1 GB/s"}]}})"),
            "x.json: /node/links/0/ends: a link needs two different ends");
  for (const char* ends : {R"({"a": "g", "b": "h"})", R"(["g"])", R"("gh")"}) {
    EXPECT_EQ(message(fmt::format(
                  R"({{"node": {{{}, "links": [{{"ends": {}, "bandwidth": "1 GB/s"}}]}}}})",
                  vertices, ends)),
              "x.json: /node/links/0/ends: expected the names of two vertices")
        << ends;
  }
}

}  // namespace
}  // namespace steptime
