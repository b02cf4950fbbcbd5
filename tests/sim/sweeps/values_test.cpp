// Progressions of plain numbers, and what is refused, are in sweep_test.cpp.
#include "sim/sweeps/values.h"

#include "tests/support/messages.h"
#include "tests/support/swept.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Of /cluster/network/bandwidth, which is 1 GB/s, or of another pointer.
std::string values(const std::string& json,
                   const std::string& pointer = "/cluster/network/bandwidth") {
  const Document document{"x.json", Json::parse(kTinyExperiment)};
  std::string text;
  for (const SweptValue& value : swept_values(document, pointer, Json::parse(json)))
    text += (text.empty() ? "" : " ") + value.shown().dump();
  return text;
}
std::string labels(const std::string& json, const std::string& pointer) {
  const Document document{"x.json", Json::parse(kTinyExperiment)};
  std::string text;
  for (const SweptValue& value : swept_values(document, pointer, Json::parse(json)))
    text += "[" + value.label + "]";
  return text;
}
std::string refusal(const std::string& json) {
  return message_of<InputError>([&] { values(json); });
}

TEST(SweptValues, RangesHaveUnits) {
  EXPECT_EQ(values(R"({"from": "10 Gbps", "to": "80 Gbps", "times": 2})"),
            R"("10 Gbps" "20 Gbps" "40 Gbps" "80 Gbps")");
  // In the unit of "from": 0.5 GB/s = 4 Gbps, 8 Gbps = 1 GB/s.
  EXPECT_EQ(values(R"({"from": "0.5 GB/s", "to": "12 Gbps", "plus": "4 Gbps"})"),
            R"("0.5 GB/s" "1 GB/s" "1.5 GB/s")");
  EXPECT_EQ(values(R"({"from": "1 us", "to": "1 ms", "times": 10})", "/cluster/network/latency"),
            R"("1 us" "10 us" "100 us" "1000 us")");
}

/// 1.37 x 1.37 x 1.37 = 2.571353.
TEST(SweptValues, FractionsHaveSixDigits) {
  EXPECT_EQ(values(R"({"from": "1 Gbps", "to": "3 Gbps", "times": 1.37})"),
            R"("1 Gbps" "1.37 Gbps" "1.8769 Gbps" "2.57135 Gbps")");
  EXPECT_EQ(values(R"({"from": 1000003, "to": 1000005, "plus": 1})"), "1000003 1000004 1000005");
}

/// 1.2 MiB = 1,258,291.2 B.
TEST(SweptValues, BytesAreWhole) {
  const std::string pointer = "/strategy/schedule/capacity";
  EXPECT_EQ(values(R"({"from": "1 MiB", "to": "4 MiB", "times": 2})", pointer),
            R"("1 MiB" "2 MiB" "4 MiB")");
  EXPECT_EQ(values(R"({"from": "1 MiB", "to": "1.3 MB", "times": 1.2})", pointer),
            R"("1 MiB" "1258291 B")");
  EXPECT_EQ(values(R"({"from": "1 B", "to": "2 B", "random": 1})", pointer).find('.'),
            std::string::npos);
}

TEST(SweptValues, FactorsMultiplyWhatTheConfigHas) {
  EXPECT_EQ(values(R"(["x0.5", "x1", "x2", "3 GB/s"])"),
            R"("0.5 GB/s" "1 GB/s" "2 GB/s" "3 GB/s")");
  EXPECT_EQ(values(R"({"from": "x1", "to": "x4", "times": 2})"), R"("1 GB/s" "2 GB/s" "4 GB/s")");
  EXPECT_EQ(values(R"(["x2", "x0.25"])", "/cluster/nodes"), "8 1");    // of 4
  EXPECT_EQ(values(R"(["x2"])", "/cluster/network/type"), R"("x2")");  // a name is none
  EXPECT_EQ(message_of<InputError>([] { values(R"(["x2"])", "/workload/batch"); }),
            "x.json: /sweep/~1workload~1batch: \"x2\" has nothing to multiply, as the config has "
            "no value there");
}

TEST(SweptValues, WhatIsEmptyIsShownAsItStands) {
  EXPECT_EQ(labels(R"([{"layout": {}}, {"layout": {"tensor": 2}}])", "/strategy"),
            "[layout={}][tensor=2]");
  EXPECT_EQ(labels(R"([{"layout": {}, "beside_compute": ["weights", "context"]}, {"layout": {}}])",
                   "/strategy"),
            R"([beside_compute=["weights","context"]][{"layout":{}}])");
  EXPECT_EQ(labels("[{}, null]", "/strategy/layout"), "[{}][null]");
}

TEST(SweptValues, RandomSamplesDependOnSeedAndPointerOnly) {
  const std::string spec = R"({"random": 3, "from": "1 us", "to": "1 ms")";
  const std::string once = values(spec + "}");
  EXPECT_EQ(values(spec + R"(, "seed": 1})"), once);
  EXPECT_NE(values(spec + R"(, "seed": 2})"), once);
  EXPECT_NE(values(spec + "}", "/cluster/network/latency"), once);
  // A longer sample begins with the shorter one.
  EXPECT_EQ(values(R"({"random": 9, "from": "1 us", "to": "1 ms"})").substr(0, once.size()), once);
}

TEST(SweptValues, RandomSamplesLieBetweenTheEnds) {
  const Document document{"x.json", Json::parse(kTinyExperiment)};
  // On a log scale half of the values lie below the geometric mean, 32; on a linear one 3 %.
  int below = 0;
  std::set<std::int64_t> seen;
  for (const SweptValue& v :
       swept_values(document, "/cluster/nodes",
                    Json{{"random", 1000}, {"from", 1}, {"to", 1024}, {"scale", "log"}})) {
    const auto nodes = v.value.get<std::int64_t>();  // a whole number, as both ends are
    EXPECT_GE(nodes, 1);
    EXPECT_LE(nodes, 1024);
    below += nodes < 32 ? 1 : 0;
    seen.insert(nodes);
  }
  EXPECT_NEAR(below, 500, 60);  // four standard deviations are 63
  EXPECT_GT(seen.size(), 200U);
}

TEST(SweptValues, LabelsAreGivenOrSayWhatDiffers) {
  EXPECT_EQ(labels(R"([{"label": "slow", "value": "1 GB/s"}, "2 GB/s"])", "/cluster/network"),
            "[slow][2 GB/s]");
  EXPECT_EQ(values(R"([{"label": "slow", "value": "1 GB/s"}])"), "\"slow\"");
  EXPECT_EQ(labels(R"([{"type": "wfbp"}, {"type": "fixed-buckets", "capacity": "1 MB"},
                       {"type": "fixed-buckets", "capacity": "4 MB"}, "naive"])",
                   "/strategy/schedule"),
            "[wfbp][fixed-buckets capacity=1 MB][fixed-buckets capacity=4 MB][naive]");
  EXPECT_EQ(labels(R"([{"nodes": 2, "network": {"type": "switch", "latency": "1 us"}},
                       {"nodes": 4, "network": {"type": "switch", "latency": "1 us"}}])",
                   "/cluster"),
            "[nodes=2][nodes=4]");
  EXPECT_EQ(labels(R"([{"a": 1}, 5, [1, 2]])", "/cluster"), R"([{"a":1}][5][[1,2]])");
}

TEST(SweptValues, StandOnAnAxisInTheirBaseUnit) {
  EXPECT_EQ(place_on_axis(16), 16);
  EXPECT_EQ(place_on_axis("10 Gbps"), 1.25e9);
  EXPECT_EQ(place_on_axis("2 KiB"), 2048);
  EXPECT_EQ(place_on_axis("wfbp"), std::nullopt);
}

TEST(SweptValues, SayWhatIsWrong) {
  const std::string at = "x.json: /sweep/~1cluster~1network~1bandwidth";
  EXPECT_EQ(refusal(R"({"from": "10 Gbps", "to": "1 ms", "times": 2})"),
            at + "/to: expected a value such as \"from\" \"10 Gbps\", got \"1 ms\"");
  EXPECT_EQ(refusal(R"({"from": "10 Gbps", "to": 20, "times": 2})"),
            at + "/to: expected a value such as \"from\" \"10 Gbps\", got 20");
  EXPECT_EQ(refusal(R"({"from": "10 parsec", "to": 20, "times": 2})"),
            at + "/from: expected a number, a quantity with its unit or a factor such as \"x2\", "
                 "got \"10 parsec\"");
  EXPECT_EQ(refusal(R"({"from": "1 Gbps", "to": "2 Gbps", "plus": "0 Gbps"})"),
            at + "/plus: must be positive, got \"0 Gbps\"");
  EXPECT_EQ(refusal(R"({"random": 3, "from": 1, "to": 2, "times": 2})"),
            at + ": \"random\" goes with neither \"times\" nor \"plus\"");
  EXPECT_EQ(refusal(R"({"from": 1, "to": 2, "times": 2, "seed": 3})"),
            at + ": \"seed\" is of \"random\"");
  EXPECT_EQ(refusal(R"({"random": 3, "from": 0, "to": 2, "scale": "log"})"),
            at + ": \"from\" must be positive on a \"log\" scale");
  EXPECT_EQ(refusal(R"([{"label": 1, "value": 2}])"), at + ": expected a text as \"label\", got 1");
}

}  // namespace
}  // namespace steptime
