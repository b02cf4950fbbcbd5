#include "sim/core/error.h"
#include "sim/network/cluster.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string switch_error(const std::string& json) {
  return message_of<InputError>([&] { make<NetworkKind>(json); });
}

TEST(Switch, EveryPairHasTheWholePort) {
  const auto network =
      make<NetworkKind>(R"({"type": "switch", "latency": "45.26 us", "bandwidth": "10 Gbps"})");
  for (const std::int64_t endpoints : {1, 2, 64, 1024}) {
    EXPECT_EQ(network->link(endpoints).latency, Duration(45'260'000));
    EXPECT_EQ(network->link(endpoints).bandwidth, Bandwidth{1.25e9});  // 10e9 / 8
  }
}

TEST(Switch, LatencyMayBeZeroAndBandwidthMayNot) {
  EXPECT_EQ(make<NetworkKind>(R"({"type": "switch", "latency": "0 s", "bandwidth": "1 B/s"})")
                ->link(2)
                .latency,
            Duration{});
  EXPECT_EQ(switch_error(R"({"type": "switch", "latency": "0 s", "bandwidth": "0 B/s"})"),
            "x.json: /network/bandwidth: must be positive, got \"0 B/s\"");
  EXPECT_EQ(switch_error(R"({"type": "switch", "latency": "-1 s", "bandwidth": "1 B/s"})"),
            "x.json: /network/latency: must not be negative, got \"-1 s\"");
  EXPECT_EQ(switch_error(R"({"type": "switch", "latency": "1 s"})"),
            "x.json: /network/bandwidth: required but missing");
}

}  // namespace
}  // namespace steptime
