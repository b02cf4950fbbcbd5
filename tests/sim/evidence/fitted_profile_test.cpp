#include "sim/evidence/fitted_profile.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// a + b M at powers of two from 4 B to 1 MiB, in three equal rounds.
MeasuredSeries line(const std::string& operation, std::int64_t ranks, double a, double b) {
  MeasuredSeries series{operation, ranks, {}};
  for (std::int64_t bytes = 4; bytes <= 1 << 20; bytes *= 2) {
    const double seconds = a + b * static_cast<double>(bytes);
    series.sizes.push_back({bytes, {seconds, seconds, seconds}});
  }
  return series;
}

TEST(FittedProfile, TheClusterIsThatOfPingPongAndHostSum) {
  const FittedProfile profile = fit_profile(
      {.nodes = 2,
       .provenance = {{"source", "me"}},
       .series = {line("all-reduce", 4, 100e-6, 2e-9), line("ping-pong", 2, 10e-6, 1e-9),
                  line("host-sum", 1, 1e-6, 0.5e-9)}},
      {});
  const Json json = profile.json("mine");
  EXPECT_EQ(json.at("format"), "steptime-cluster");
  EXPECT_EQ(json.at("help"), "mine");
  EXPECT_EQ(json.at("provenance").at("source"), "me");
  EXPECT_EQ(json.at("cluster").at("nodes"), 2);
  EXPECT_EQ(json.at("cluster").at("gpus_per_node"), 2);
  EXPECT_EQ(json.at("operations").at("all-reduce").at("ranks"), 4);
  const Json& network = json.at("cluster").at("network");
  EXPECT_NEAR(to_seconds(parse_quantity<Duration>(network.at("latency").get<std::string>())), 10e-6,
              1e-8);
  EXPECT_NEAR(
      parse_quantity<Bandwidth>(network.at("bandwidth").get<std::string>()).bytes_per_second, 1e9,
      1e3);
  EXPECT_NEAR(parse_quantity<TimePerByte>(json.at("cluster").at("reduction").get<std::string>())
                  .seconds_per_byte,
              0.5e-9, 1e-15);
}

// Without ping-pong: a ring of 4 has 6 start-ups, and 6/4 of the bytes cross each link.
TEST(FittedProfile, ElseThatOfARing) {
  const Json json =
      fit_profile({.nodes = 4, .series = {line("all-reduce", 4, 60e-6, 1.5e-9)}}, {}).json("mine");
  const Json& network = json.at("cluster").at("network");
  EXPECT_NEAR(to_seconds(parse_quantity<Duration>(network.at("latency").get<std::string>())), 10e-6,
              1e-8);
  EXPECT_NEAR(
      parse_quantity<Bandwidth>(network.at("bandwidth").get<std::string>()).bytes_per_second, 1e9,
      1e3);
}

TEST(FittedProfile, PrintsALineForEachSegmentAndWhatHeldOutSizesSay) {
  const std::string text =
      fit_profile({.nodes = 4, .series = {line("all-reduce", 4, 60e-6, 1.5e-9)}}, {}).text();
  EXPECT_NE(text.find("60.00"), std::string::npos) << text;
  EXPECT_NE(text.find("1.5000"), std::string::npos) << text;
  EXPECT_NE(text.find("all-reduce: every second of the sizes, held out, is predicted within 0.0 %"),
            std::string::npos)
      << text;
}

// What `calibrate cuda` writes: a copy of 10 us and 0.1 ns/B is the link, 0.002 ns/B of the sum
// with all blocks the reduction, and a launch of 5 us has no size.
TEST(FittedProfile, TakesTheLinkAndTheSumsOfAGpu) {
  const FittedProfile profile = fit_profile({.series = {line(kPinnedCopy, 1, 10e-6, 0.1e-9),
                                                        line(kGpuSum, 1, 3e-6, 2e-12),
                                                        {"kernel launch", 1, {{0, {5e-6, 5e-6}}}}}},
                                            {});
  const Json cluster = profile.json("mine").at("cluster");
  EXPECT_NEAR(
      to_seconds(parse_quantity<Duration>(cluster.at("network").at("latency").get<std::string>())),
      10e-6, 1e-8);
  EXPECT_NEAR(
      parse_quantity<TimePerByte>(cluster.at("reduction").get<std::string>()).seconds_per_byte,
      2e-12, 1e-17);
  const MeasuredSegment& launch = profile.operations.at("kernel launch").segments.front();
  EXPECT_DOUBLE_EQ(launch.a(), 5e-6);
  EXPECT_EQ(launch.b(), 0);
}

TEST(FittedProfile, NamesTheOperationThatCannotBeFitted) {
  EXPECT_EQ(message_of<InputError>([] {
              fit_profile({.series = {{"broadcast", 2, {{4, {1.0}}}}}}, {});
            }),
            "broadcast: expected at least two sizes, got 1");
}

}  // namespace
}  // namespace steptime
