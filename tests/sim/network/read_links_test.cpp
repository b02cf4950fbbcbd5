#include "sim/network/read_links.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Topology read(const std::string& links) {
  static const Params kParams{links_param(), routes_param()};
  Topology topology;
  topology.add_vertex("a", VertexKind::kSocket);
  topology.add_vertex("b", VertexKind::kSocket);
  read_links(config_of(R"({"links": [)" + links + "]}", kParams), {{"a", 0}, {"b", 1}}, topology);
  return topology;
}

TEST(ReadLinks, ParallelOnesAddUp) {
  const Topology topology =
      read(R"({"ends": ["b", "a"], "latency": "2 us", "bandwidth": "3 GB/s", "count": 4})");
  const Topology::LinkInfo& link = topology.links().at(0);
  EXPECT_EQ(link.first, 1);
  EXPECT_EQ(link.second, 0);
  EXPECT_EQ(link.latency, std::chrono::microseconds(2));
  EXPECT_EQ(link.bandwidth.bytes_per_second, 12e9);
}

TEST(ReadLinks, HaveTwoEndsThatThereAre) {
  const auto refusal = [](const std::string& ends) {
    return message_of<InputError>(
        [&] { read(R"({"bandwidth": "1 GB/s", "ends": )" + ends + "}"); });
  };
  EXPECT_EQ(refusal(R"(["a"])"), "x.json: /links/0/ends: expected the names of two vertices");
  EXPECT_EQ(refusal(R"(["a", "c"])"), "x.json: /links/0/ends: no vertex is named \"c\"");
  EXPECT_EQ(refusal(R"(["a", "a"])"), "x.json: /links/0/ends: a link needs two different ends");
}

TEST(ReadLinks, RoutesAreTheShortestByDefault) {
  static const Params kParams{routes_param()};
  EXPECT_EQ(read_metric(config_of("{}", kParams)), RouteMetric::kShortest);
  EXPECT_EQ(read_metric(config_of(R"({"routes": "widest"})", kParams)), RouteMetric::kWidest);
}

}  // namespace
}  // namespace steptime
