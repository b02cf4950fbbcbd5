// Figures of runs, of one collective, and of its error against a measured table, as claims.
#include "sim/evidence/claim_runner.h"

#include "sim/core/error.h"
#include "tests/support/claimed.h"
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
/// A message behind the name of the file.
std::string after_file(const std::string& message) {
  const auto pointer = message.find(": /");
  return pointer == std::string::npos ? message : message.substr(pointer + 2);
}
std::string error_of(const std::string& measure) {
  return after_file(message_of<InputError>([&] { claims_of(measure); }));
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

/// 1024 B: 11.024 us against twice as much; 2048 B: 12.048 us as measured.
TEST(ClaimsCollective, ErrorOverSomeSizesOfATable) {
  const ScratchFile table("t.csv", "bytes,time_us\n1024,22.048\n2048,12.048\n");
  const std::string of = R"({"value": "geomean_error_pct", "measured": ")" + table.path() + "\", ";
  EXPECT_NEAR(figure(of + R"("to_bytes": 2047})"), 100, 1e-9);
  EXPECT_NEAR(figure(of + R"("from_bytes": 1025})"), 0, 1e-9);
  EXPECT_EQ(error_of(of + R"("from_bytes": 4096})"),
            "/claims/figures/0/measure/measured: no size of it lies in from_bytes to to_bytes");
}

TEST(ClaimsCollective, UnknownFiguresAreNamed) {
  const std::string at = "/claims/figures/0/measure/value: unknown \"speed\"; known: ";
  EXPECT_EQ(error_of(R"({"value": "speed", "bytes": 8})"), at + "time_us, algbw_GBps, busbw_GBps");
  const ScratchFile table("t.csv", "bytes,time_us\n1024,22\n");
  EXPECT_EQ(error_of(R"({"value": "speed", "measured": ")" + table.path() + "\"}"),
            at + "geomean_error_pct");
}

TEST(ClaimRunner, ARatioOfTwoRuns) {
  // One worker takes 42 ms, four take 44 ms: 44 / 42, and in percent.
  const ClaimRow row = claim(R"({"measure": {"value": "step_time_s", "of": {"/cluster/nodes": 4},
      "over": {"/cluster/nodes": 1}, "scale": 100}, "published": 104.76, "unit": "%"})");
  EXPECT_DOUBLE_EQ(row.simulated.get<double>(), 0.044 / 0.042 * 100);
  EXPECT_TRUE(row.ok);
}

TEST(ClaimRunner, SetsApplyToBothRunsAndOfOnTopOfThem) {
  // Without gradients to send for one worker: 42 ms. "set" puts 8 nodes, "of" overrides them.
  const ClaimRow row = claim(R"({"measure": {"value": "workers", "set": {"/cluster/nodes": 8,
      "/cluster/gpus_per_node": 2, "/cluster/intra_node": {"type": "switch", "latency": "0 s",
      "bandwidth": "1 GB/s"}}, "of": {"/cluster/nodes": 3}, "over": {}}, "published": 0.375})");
  EXPECT_EQ(row.simulated, 0.375);  // 3 * 2 / (8 * 2)
}

constexpr const char* kOrder = R"({"measure": null, "order": {"value": "step_time_s", "of": {
    "Naive": {"/strategy/schedule/type": "naive"}, "WFBP": {"/strategy/schedule/type": "wfbp"},
    "One": {"/cluster/nodes": 1}}}, "published": "One < WFBP < Naive"})";

TEST(ClaimRunner, AnOrdering) {
  // One worker 42 ms; WFBP 44 ms; naive 42 + 1.004 + 5 + 2 = 50.004 ms.
  const ClaimRow row = claim(kOrder);
  EXPECT_EQ(row.simulated, "One < WFBP < Naive");
  EXPECT_TRUE(row.ok);
  EXPECT_FALSE(row.json().contains("error_pct"));
  EXPECT_FALSE(row.json().contains("tolerance_pct"));
  Json wrong = Json::parse(kOrder);
  wrong["published"] = "Naive < WFBP";
  EXPECT_FALSE(claim(wrong.dump()).ok);
}

TEST(ClaimRunner, TheEntryAtOneEndOfAnOrdering) {
  Json order = Json::parse(kOrder);
  order["order"]["show"] = "smallest";
  EXPECT_EQ(claim(order.dump()).simulated, "One");
  order["order"]["show"] = "largest";
  EXPECT_EQ(claim(order.dump()).simulated, "Naive");
}

TEST(ClaimRunner, AnOrderingOfCollectives) {
  // 1 ns/B and 2 ns/B.
  const ClaimRow row = claim(R"({"measure": null, "published": "slow < fast", "order": {
      "value": "busbw_GBps", "bytes": 1000000, "of": {
        "fast": {"/strategy/aggregation/collective": {"type": "linear", "a": "0 s", "b": "1 ns/B"}},
        "slow": {"/strategy/aggregation/collective": {"type": "linear", "a": "0 s", "b": "2 ns/B"}}
      }}})");
  EXPECT_EQ(row.simulated, "slow < fast");
  EXPECT_TRUE(row.ok);
}

TEST(ClaimRunner, EqualsAreSaidToBeEqual) {
  const ClaimRow row = claim(R"({"measure": null, "published": "A = B < C", "order": {
      "value": "workers", "set": {"/cluster/gpus_per_node": 1}, "of": {"C": {"/cluster/nodes": 3},
      "A": {"/cluster/nodes": 2}, "B": {"/cluster/nodes": 2}}}})");
  EXPECT_EQ(row.simulated, "A = B < C");  // equal ones in the order of the file
  EXPECT_TRUE(row.ok);
}

/// a = 10 us + 1 ns/B against 1 us + 2 ns/B meet at 9,000 B: 9,000 floats of one byte, 4,500 of
/// two.
constexpr const char* kMap = R"({"figures": [], "maps": [{"id": "M-1", "quantity": "fastest",
    "where": "Figure 1", "sizes": {"from": 1, "to": 1e6, "unit": "floats"},
    "of": {"late": {"/strategy/aggregation/collective": {"type": "linear", "a": "10 us", "b": "1 ns/B"}},
           "soon": {"/strategy/aggregation/collective": {"type": "linear", "a": "1 us", "b": "2 ns/B"}}},
    "for": {"one byte": {"bytes": 1}, "two": {"bytes": 2}, "two nodes": {"bytes": 1,
            "set": {"/cluster/nodes": 2}}}}]})";

std::vector<SizeMap> maps_of(const std::string& claims_patch) {
  const TinyFolder folder;
  Json claims{{"paper", "tiny"}, {"source", "A book"}, {"inputs", "the trace"}};
  claims.merge_patch(Json::parse(claims_patch));
  return simulate_maps(folder.experiment(Json{{"claims", claims}}.dump()));
}

TEST(ClaimRunner, AMapSaysWhereOneOvertakesTheOther) {
  const std::vector<SizeMap> maps = maps_of(kMap);
  ASSERT_EQ(maps.size(), 1U);
  ASSERT_EQ(maps[0].rows.size(), 3U);
  ASSERT_EQ(maps[0].rows[0].spans.size(), 2U);
  EXPECT_EQ(maps[0].rows[0].spans[0].fastest, "soon");
  EXPECT_NEAR(maps[0].rows[0].spans[0].to, 9000, 9);
  EXPECT_NEAR(maps[0].rows[1].spans[0].to, 4500, 5);
  EXPECT_NEAR(maps[0].rows[2].spans[0].to, 9000, 9);  // T(M) does not depend on the nodes
}

TEST(ClaimRunner, AMapNeedsSizesInOrderAndSomethingToCompare) {
  Json map = Json::parse(kMap);
  map["maps"][0]["sizes"]["to"] = 1;
  EXPECT_EQ(after_file(message_of<InputError>([&] { maps_of(map.dump()); })),
            "/claims/maps/0/sizes/to: expected more than \"from\", 1, got 1");
  map = Json::parse(kMap);
  map["maps"][0]["of"] = Json::object();
  EXPECT_EQ(after_file(message_of<InputError>([&] { maps_of(map.dump()); })),
            "/claims/maps/0/of: expected something to compare, got none");
  map = Json::parse(kMap);
  map["maps"][0]["for"] = Json::object();
  EXPECT_EQ(after_file(message_of<InputError>([&] { maps_of(map.dump()); })),
            "/claims/maps/0/for: expected a row at least, got none");
  map["maps"][0]["for"]["huge"]["bytes"] = 1e18;
  EXPECT_EQ(
      after_file(message_of<InputError>([&] { maps_of(map.dump()); })),
      "/claims/maps/0/for/huge/bytes: expected at most 1e+18 B for the largest size, 1000000");
}

}  // namespace
}  // namespace steptime
