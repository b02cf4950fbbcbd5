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

/// 12.5 GB/s are 100 Gbit/s; 12 GB/s are some measured rate; 10 Gbit/s are reached.
TEST(Switch, ALineRateFromTwentyFiveGigabitsOnIsNoMeasuredOne) {
  const auto outside = [](const std::string& bandwidth) {
    return make<NetworkKind>(R"({"type": "switch", "latency": "1 us", "bandwidth": ")" + bandwidth +
                             "\"}")
        ->outside_domain();
  };
  EXPECT_EQ(outside("12.5 GB/s"),
            "network at its line rate of 100 Gbit/s, which no host was measured to reach");
  EXPECT_EQ(outside("12 GB/s"), "");
  EXPECT_EQ(outside("10 Gbps"), "");
}

}  // namespace
}  // namespace steptime
