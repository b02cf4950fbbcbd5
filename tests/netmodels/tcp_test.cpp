// What do TCP connections carry, alone and together?
#include "sim/core/error.h"
#include "sim/network/cluster.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// One carries 1 GB/s, three 3 GB/s; a host no more than 4 GB/s.
TEST(Tcp, ConnectionsAddUpToWhatTheHostMoves) {
  const auto tcp = make<NetworkKind>(
      R"({"type": "tcp", "bandwidth": "100 Gbps", "latency": "30 us", "connection": "1 GB/s",
          "host": "4 GB/s"})");
  EXPECT_EQ(tcp->link(2).latency, Duration(30'000'000));
  EXPECT_EQ(tcp->link(2).bandwidth, Bandwidth{1e9});
  EXPECT_EQ(tcp->together(3), Bandwidth{3e9});
  EXPECT_EQ(tcp->together(8), Bandwidth{4e9});
  EXPECT_EQ(tcp->outside_domain(), "");
}

/// 1,460 of 1,538 B of a frame are data, with jumbo frames 8,960 of 9,038.
TEST(Tcp, FramesHaveHeaders) {
  EXPECT_DOUBLE_EQ(make<NetworkKind>(R"({"type": "10gbe"})")->link(2).bandwidth.bytes_per_second,
                   1.25e9 * 1460 / 1538);
  EXPECT_DOUBLE_EQ(make<NetworkKind>(R"({"type": "10gbe", "mtu": "9000 B"})")
                       ->link(2)
                       .bandwidth.bytes_per_second,
                   1.25e9 * 8960 / 9038);
}

/// 10 Gbit/s a connection, 30 Gbit/s a host.
TEST(Tcp, APresetOfWhichARangeIsKnownSaysSo) {
  const auto fast = make<NetworkKind>(R"({"type": "100gbe"})");
  EXPECT_EQ(fast->link(2).bandwidth, Bandwidth{1.25e9});
  EXPECT_EQ(fast->together(16), Bandwidth{3.75e9});
  EXPECT_EQ(
      fast->outside_domain(),
      "TCP over 100 Gbit/s Ethernet: hosts were measured at 8 to 60 Gbit/s, 30 is taken, 10 of "
      "one connection");
  EXPECT_DOUBLE_EQ(fast->known().slowest, 8.0 / 30);
  EXPECT_DOUBLE_EQ(fast->known().fastest, 2);
  EXPECT_EQ(make<NetworkKind>(R"({"type": "10gbe"})")->outside_domain(), "");
  EXPECT_EQ(make<NetworkKind>(R"({"type": "10gbe", "bandwidth": "100 Gbps"})")->outside_domain(),
            "TCP over 10 Gbit/s Ethernet at 100 Gbit/s: what its hosts carry is assumed, 30");
  // As a config has it that is written out.
  EXPECT_EQ(make<NetworkKind>(R"({"type": "100gbe", "connection": "10 Gbps", "host": "30 Gbps"})")
                ->outside_domain(),
            fast->outside_domain());
  EXPECT_EQ(make<NetworkKind>(R"({"type": "tcp", "latency": "20 us", "bandwidth": "100 Gbps",
                                  "connection": "10 Gbps", "host": "30 Gbps"})")
                ->outside_domain(),
            "");
  // One's own ceilings are no range.
  const auto own = make<NetworkKind>(R"({"type": "100gbe", "host": "40 Gbps"})");
  EXPECT_EQ(own->outside_domain(), "");
  EXPECT_EQ(own->known().slowest, 1);
}

TEST(Tcp, WithoutAPresetItsCeilingsAreRequired) {
  EXPECT_EQ(message_of<InputError>([] {
              make<NetworkKind>(R"({"type": "tcp", "bandwidth": "10 Gbps", "latency": "1 us",
                                    "connection": "1 GB/s"})");
            }),
            "x.json: /network/host: required but missing");
}

}  // namespace
}  // namespace steptime
