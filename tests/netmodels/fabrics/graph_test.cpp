// Two leaves with two ports each, 0 and 1, 2 and 3: channels 0 to 3 lead out of the ports, 4 to 7
// into them, 8 and 9 from leaf a to leaf b and back, and so on.
#include "sim/core/error.h"
#include "tests/support/fabric.h"
#include "tests/support/messages.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Path = std::vector<ChannelId>;

const std::string kLeaves = R"({"name": "a", "ports": 2}, {"name": "b", "ports": 2})";

std::string graph(const std::string& vertices, const std::string& links) {
  return R"({"type": "graph", "vertices": [)" + vertices + R"(], "links": [)" + links + "]}";
}

TEST(GraphFabric, GoesOverTheLinkBetweenTwoLeaves) {
  const auto fabric = make_fabric(
      graph(kLeaves,
            R"({"ends": ["a", "b"], "bandwidth": "2 GB/s", "latency": "3 ns", "count": 2})"),
      4);
  EXPECT_EQ(route(*fabric, 0, 1), (Path{0, 5}));
  EXPECT_EQ(route(*fabric, 0, 3), (Path{0, 8, 7}));
  EXPECT_EQ(route(*fabric, 2, 1), (Path{2, 9, 5}));
  EXPECT_TRUE(routes_are_simple(*fabric, 4));
  const auto channels = fabric->channels();
  EXPECT_EQ(channels[0].bandwidth, kPortBandwidth);
  EXPECT_EQ(channels[0].latency + channels[4].latency, kPortLatency);
  EXPECT_EQ(channels[8].bandwidth.bytes_per_second, 4e9);
  EXPECT_EQ(channels[9].latency, std::chrono::nanoseconds(3));
}

/// Over one of two spines: that of less latency, or the wider one.
TEST(GraphFabric, TakesTheRouteThatIsAskedFor) {
  const std::string spines = kLeaves + R"(, {"name": "near"}, {"name": "wide"})";
  std::string links;
  for (const char* leaf : {"a", "b"}) {
    links += std::string(links.empty() ? "" : ", ") + R"({"ends": [")" + leaf +
             R"(", "near"], "bandwidth": "1 GB/s", "latency": "1 ns"}, {"ends": [")" + leaf +
             R"(", "wide"], "bandwidth": "9 GB/s", "latency": "2 ns"})";
  }
  std::string json = graph(spines, links);
  // Links: 8 and 9 a-near, 10 and 11 a-wide, 12 and 13 b-near, 14 and 15 b-wide.
  EXPECT_EQ(route(*make_fabric(json, 4), 1, 2), (Path{1, 8, 13, 6}));
  json.insert(json.size() - 1, R"(, "routes": "widest")");
  EXPECT_EQ(route(*make_fabric(json, 4), 1, 2), (Path{1, 10, 15, 6}));
}

/// As rails: the first adapter of each of two nodes at one switch, the second at the other.
TEST(GraphFabric, PortsAreWhereTheyAreSaidToBe) {
  const auto fabric =
      make_fabric(graph(R"({"name": "a", "ports": [0, 2]}, {"name": "b", "ports": [3, 1]})",
                        R"({"ends": ["a", "b"], "bandwidth": "1 GB/s"})"),
                  4);
  EXPECT_EQ(route(*fabric, 0, 2), (Path{0, 6}));
  EXPECT_EQ(route(*fabric, 1, 2), (Path{1, 9, 6}));
}

TEST(GraphFabric, SaysWhatIsWrong) {
  const auto refusal = [](const std::string& vertices, const std::string& links) {
    return message_of<InputError>([&] { make_fabric(graph(vertices, links), 4); });
  };
  EXPECT_EQ(refusal(kLeaves, ""), "x.json: /fabric/links: no route from \"a\" to \"b\"");
  EXPECT_EQ(refusal(R"({"name": "a", "ports": 3})", ""),
            "x.json: /fabric/vertices: port 3 is at none, but 4 are needed");
  EXPECT_EQ(refusal(R"({"name": "a", "ports": 4}, {"name": "b", "ports": [2]})", ""),
            "x.json: /fabric/vertices/1/ports: port 2 is there twice");
  EXPECT_EQ(
      refusal(R"({"name": "a", "ports": "4"})", ""),
      "x.json: /fabric/vertices/0/ports: expected a whole number from 0 to 10000000 or a list "
      "of such, got \"4\"");
  EXPECT_EQ(
      refusal(R"({"name": "a", "ports": [-1]})", ""),
      "x.json: /fabric/vertices/0/ports: expected a whole number from 0 to 10000000 or a list "
      "of such, got -1");
  EXPECT_EQ(refusal(R"({"name": "a"}, {"name": "a"})", ""),
            "x.json: /fabric/vertices/1/name: \"a\" is there twice");
  EXPECT_EQ(refusal(kLeaves, R"({"ends": ["a", "c"], "bandwidth": "1 GB/s"})"),
            "x.json: /fabric/links/0/ends: no vertex is named \"c\"");
}

}  // namespace
}  // namespace steptime
