#include "sim/collective/profile.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/scratch_file.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

//  10 us at 100 B, 20 us at 200 B, jump to 40 us at 400 B, 60 us at 800 B; +-10 %
std::vector<MeasuredSegment> segments() {
  return {{{100, 10e-6, 9e-6, 11e-6}, {200, 20e-6, 18e-6, 22e-6}},
          {{400, 40e-6, 36e-6, 44e-6}, {800, 60e-6, 54e-6, 66e-6}}};
}

TEST(MeasuredCurve, IsStraightInAndBetweenSegments) {
  const MeasuredCurve curve(segments());
  EXPECT_NEAR(curve.fitted(150), 15e-6, 1e-15);
  EXPECT_NEAR(curve.fitted(300), 30e-6, 1e-15);   // between the two
  EXPECT_NEAR(curve.fitted(1000), 70e-6, 1e-15);  // prolonged by 0.05 us/B
  EXPECT_NEAR(curve.fitted(50), 5e-6, 1e-15);
  EXPECT_EQ(curve.low(0), 0);  // 9 - 9: never negative
  EXPECT_NEAR(curve.high(600), 55e-6, 1e-15);
}

TEST(MeasuredCurve, NoTimeDecreasesWithSize) {
  const std::vector<MeasuredSegment> falling{{{100, 10e-6, 9e-6, 11e-6}, {200, 8e-6, 7e-6, 9e-6}}};
  const MeasuredCurve curve(falling);
  EXPECT_EQ(curve.fitted(200), 10e-6);
  EXPECT_EQ(curve.high(200), 11e-6);
}

TEST(Profile, IsReadAsItIsWritten) {
  const MeasuredOperations operations{{"all-reduce", {4, 12, "rounds", segments()}}};
  const ScratchFile file("p.json", Json{{"operations", operations_json(operations)}}.dump());
  const MeasuredOperations read = read_operations(file.path());
  ASSERT_TRUE(read.contains("all-reduce"));
  const MeasuredOperation& operation = read.at("all-reduce");
  EXPECT_EQ(operation.ranks, 4);
  EXPECT_EQ(operation.rounds, 12);
  ASSERT_EQ(operation.segments.size(), 2U);
  EXPECT_NEAR(operation.segments[1].last.fitted, 60e-6, 1e-15);
  EXPECT_EQ(operation.segments[1].last.high, 66e-6);
}

TEST(Profile, SaysWhatIsWrong) {
  const auto error = [](const std::string& text) {
    const ScratchFile file("p.json", text);
    const std::string message = message_of<InputError>([&] { read_operations(file.path()); });
    return message.substr(message.find("p.json"));
  };
  EXPECT_EQ(error("{}"), "p.json: /operations: required but missing");
  EXPECT_EQ(error(R"({"operations": {"x": {"ranks": 4, "rounds": 1, "interval_from": "rounds",
                                           "segments": []}}})"),
            "p.json: /operations/x/segments: expected at least one, got none");
  const std::string segment = R"({"operations": {"x": {"ranks": 4, "rounds": 1,
    "interval_from": "rounds", "segments": [{"first_bytes": 8, "last_bytes": LAST, "a_s": 1,
    "b_s_per_byte": 0, "low_s": LOW, "high_s": [1, 1]}]}}})";
  const auto with = [&](const std::string& last, const std::string& low) {
    std::string text = segment;
    text.replace(text.find("LAST"), 4, last);
    return error(text.replace(text.find("LOW"), 3, low));
  };
  EXPECT_EQ(with("4", "[1, 1]"),
            "p.json: /operations/x/segments/0/last_bytes: is below first_bytes");
  EXPECT_EQ(with("9", "[1]"),
            "p.json: /operations/x/segments/0/low_s: expected two times in seconds, got a list");
}

TEST(MeasuredCollective, HasItsTimesAndTheEndsOfTheirInterval) {
  const MeasuredCollective c({4, 12, "rounds", segments()}, "p.json");
  EXPECT_EQ(c.time(Bytes{150}), std::chrono::microseconds(15));
  EXPECT_EQ(c.at(IntervalEnd::kLow)->time(Bytes{200}), std::chrono::microseconds(18));
  EXPECT_EQ(c.at(IntervalEnd::kHigh)->time(Bytes{200}), std::chrono::microseconds(22));
  EXPECT_EQ(c.outside_domain(Bytes{100}), "");
  EXPECT_EQ(c.outside_domain(Bytes{801}), "801 B is outside the 100 to 800 B that p.json measured");
}

}  // namespace
}  // namespace steptime
