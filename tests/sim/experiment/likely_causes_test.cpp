// A step of compute and transfer, 40 ms c + 10 ms / b, that is measured to take 60 ms: with
// everything else as it is, c = 1.25, or b = 0.5.
#include "sim/experiment/likely_causes.h"

#include "sim/core/error.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

Suspect suspect(const std::string& key, double elasticity) {
  return {"/" + key, "1", elasticity,
          [key](double factor) {
            return Json{{key, factor}};
          },
          [](double factor) { return fmt::format("{:.3f}", factor); }};
}
double time_of(const Json& config) {
  return 0.040 * config.value("c", 1.) + 0.010 / config.value("b", 1.);
}

TEST(LikelyCauses, AreValuesThatGiveWhatWasMeasuredTheLeastChangeFirst) {
  const auto causes = likely_causes({suspect("b", -0.2), suspect("c", 0.8)}, 0.050, 0.060, time_of);
  ASSERT_EQ(causes.size(), 2U);
  EXPECT_EQ(causes[0].pointer, "/c");
  EXPECT_NEAR(causes[0].factor, 1.25, 1e-3);
  EXPECT_EQ(causes[0].needed, "1.250");
  EXPECT_EQ(causes[1].pointer, "/b");
  EXPECT_NEAR(causes[1].factor, 0.5, 1e-3);
}

/// Without any transfer a step still takes 40 ms; without compute it takes 10.
TEST(LikelyCauses, WhatCannotComeToItIsLeftOut) {
  const auto causes = likely_causes({suspect("b", -0.2), suspect("c", 0.8)}, 0.050, 0.030, time_of);
  ASSERT_EQ(causes.size(), 1U);
  EXPECT_EQ(causes[0].pointer, "/c");
  EXPECT_NEAR(causes[0].factor, 0.5, 1e-3);
}

TEST(LikelyCauses, AJumpOverItIsNoSolutionAndARefusedValueNeither) {
  const auto jumping = [](const Json& config) { return config.value("c", 1.) > 1.1 ? 0.09 : 0.05; };
  EXPECT_TRUE(likely_causes({suspect("c", 0.8)}, 0.050, 0.060, jumping).empty());
  const auto refusing = [](const Json&) -> double { throw InputError("no"); };
  EXPECT_TRUE(likely_causes({suspect("c", 0.8)}, 0.050, 0.060, refusing).empty());
}

TEST(LikelyCauses, SayWhereTheMeasurementLies) {
  const MeasuredStep step{0.060, {{"/c", "1", "1.25", 1.25}}, true};
  EXPECT_EQ(step.text(0.050, {.low = 0.045, .high = 0.055}),
            "measured: 60.000 ms, +20.0 % of what is predicted, outside the interval of such "
            "predictions, 45.000 to 55.000 ms\n"
            "it takes that long with  which is  instead  factor\n"
            "-----------------------  --------  -------  ------\n"
            "/c                              1     1.25   1.250\n"
            "tried: each up to 1000 times as much or as little\n"
            "compute: of the slowest worker, for which the others wait, or of all\n"
            "with the messages that are planned for the experiment as it is\n");
  EXPECT_EQ(step.json()["causes"][0]["needed"], "1.25");
  EXPECT_EQ(step.json()["most_factor"], 1000);
}

/// A pointer with a "*" names several places, and --set takes one.
TEST(LikelyCauses, SayHowToSetWhatTheyName) {
  const MeasuredStep step{0.060, {{"/cluster/node/links/*/bandwidth", "1", "2", 2}}};
  EXPECT_NE(step.text(0.050, {.low = 0.045, .high = 0.055})
                .find("\n*: every element alike; --set takes one at a time, as "
                      "/cluster/node/links/0/bandwidth\n"),
            std::string::npos);
}

TEST(LikelyCauses, SayHowFarTheyWereLookedFor) {
  EXPECT_TRUE(
      MeasuredStep{.seconds = 0.060}
          .text(0.050, {.low = 0.045, .high = 0.055})
          .ends_with("\nno quantity of the experiment alone, up to 1000 times as much or as "
                     "little, makes the step take that long\n"));
}

}  // namespace
}  // namespace steptime
