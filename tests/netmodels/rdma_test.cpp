// Do adapters that move data past the CPU give the share of their line rate that was measured?
#include "sim/core/error.h"
#include "sim/network/cluster.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Rdma, AShareOfTheLineRate) {
  const auto edr = make<NetworkKind>(R"({"type": "edr-infiniband"})");
  EXPECT_EQ(edr->link(2).latency, Duration(1'290'000));
  EXPECT_DOUBLE_EQ(edr->link(2).bandwidth.bytes_per_second, 12e9);  // .96 x 100 / 8
  EXPECT_EQ(edr->outside_domain(), "");
  EXPECT_FALSE(edr->together(8));
  const auto efa = make<NetworkKind>(R"({"type": "efa", "bandwidth": "400 Gbps"})");
  EXPECT_DOUBLE_EQ(efa->link(2).bandwidth.bytes_per_second, 35.5e9);  // .71 x 50
}

TEST(Rdma, WithoutAPresetItsNumbersAreRequired) {
  const auto error = [](const std::string& json) {
    return message_of<InputError>([&] { make<NetworkKind>(json); });
  };
  EXPECT_EQ(error(R"({"type": "rdma", "latency": "1 us"})"),
            "x.json: /network/bandwidth: required but missing");
  EXPECT_EQ(error(R"({"type": "rdma", "bandwidth": "1 B/s"})"),
            "x.json: /network/latency: required but missing");
}

}  // namespace
}  // namespace steptime
