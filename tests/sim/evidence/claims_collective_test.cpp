// Figures of one collective, and of its error against a measured table, as claims.
#include "sim/config/json.h"
#include "sim/core/error.h"
#include "sim/evidence/claims.h"
#include "tests/support/messages.h"
#include "tests/support/scratch_file.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// T = 10 us + 1 ns/B on 4 nodes; no workload is needed.
std::vector<ClaimRow> claims_of(const std::string& measure) {
  Json config = Json::parse(R"({"name": "x", "cluster": {"nodes": 4,
      "network": {"type": "switch", "latency": "1 us", "bandwidth": "1 GB/s"}},
      "strategy": {"aggregation": {"type": "all-reduce",
        "collective": {"type": "linear", "a": "10 us", "b": "1 ns/B"}}},
      "claims": {"paper": "p", "source": "s", "inputs": "i", "figures": [
        {"id": "C-1", "quantity": "q", "published": 1, "where": "w"}]}})");
  config["claims"]["figures"][0]["measure"] = Json::parse(measure);
  const ScratchFile file("x.json", config.dump());
  return simulate_claims(file.path());
}
double figure(const std::string& measure) {
  return claims_of(measure).at(0).simulated.get<double>();
}
/// The message behind the name of the file.
std::string error_of(const std::string& measure) {
  const std::string message = message_of<InputError>([&] { claims_of(measure); });
  const auto pointer = message.find(": /");
  return pointer == std::string::npos ? message : message.substr(pointer + 2);
}

/// 90,000 B: 100 us, 0.9 GB/s, 1.35 GB/s on the links of a ring of 4.
TEST(ClaimsCollective, FiguresOfOneCollective) {
  EXPECT_NEAR(figure(R"({"value": "time_us", "bytes": 90000})"), 100, 1e-9);
  EXPECT_NEAR(figure(R"({"value": "algbw_GBps", "bytes": 90000})"), 0.9, 1e-9);
  EXPECT_NEAR(figure(R"({"value": "busbw_GBps", "bytes": 90000, "scale": 8})"), 10.8, 1e-9);
  EXPECT_NEAR(figure(R"({"value": "time_us", "bytes": 90000, "over":
      {"/strategy/aggregation/collective/a": "110 us"}})"),
              0.5, 1e-9);
}

/// 1024 B: 11.024 us against twice as much; 3000 B is no power of two.
TEST(ClaimsCollective, ErrorAgainstATable) {
  const ScratchFile table("t.csv", "bytes,time_us\n1024,22.048\n3000,1\n");
  EXPECT_NEAR(figure(R"({"value": "geomean_error_pct", "measured": ")" + table.path() + "\"}"), 100,
              1e-9);
}

TEST(ClaimsCollective, UnknownFiguresAreNamed) {
  const std::string at = "/claims/figures/0/measure/value: unknown \"speed\"; known: ";
  EXPECT_EQ(error_of(R"({"value": "speed", "bytes": 8})"), at + "time_us, algbw_GBps, busbw_GBps");
  const ScratchFile table("t.csv", "bytes,time_us\n1024,22\n");
  EXPECT_EQ(error_of(R"({"value": "speed", "measured": ")" + table.path() + "\"}"),
            at + "geomean_error_pct");
}

}  // namespace
}  // namespace steptime
