#include "sim/sweeps/advice.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// w = ln(high / low) / 2 is ln 1.2 of the config and ln 1.4 of what is advised: ln(7/6) apart,
/// which 100 / 86 is not, and 100 / 85 is.
TEST(Advice, AGainIsLargerThanWhatIntervalsDifferBy) {
  const Advice advice{.step_time_s = 1, .interval_s = {1 / 1.2, 1.2}};
  const auto taking = [](double s) {
    return Advised{.step_time_s = s, .interval_s = {s / 1.4, s * 1.4}};
  };
  EXPECT_FALSE(advice.is_gain(taking(0.86)));
  EXPECT_TRUE(advice.is_gain(taking(0.85)));
  EXPECT_TRUE(advice.is_gain({.step_time_s = 0.99, .interval_s = {0.99 / 1.2, 0.99 * 1.2}}));
  EXPECT_FALSE(advice.is_gain({.step_time_s = 1.01, .interval_s = {1.01 / 1.2, 1.01 * 1.2}}));
  // 0.0 % in a table.
  EXPECT_FALSE(advice.is_gain({.step_time_s = 0.9999, .interval_s = {0.9999 / 1.2, 0.9999 * 1.2}}));
}

/// What was not simulated is said by system; what an interruption left over has no interval.
TEST(Advice, SaysWhatWasNotTried) {
  Advice advice{.name = "x", .step_time_s = 1, .interval_s = {1, 1}};
  advice.left_out.push_back({"Horovod", "servers", 3, "too many messages to try them all"});
  advice.is_partial = true;
  EXPECT_NE(
      advice.text().find(
          "not tried: Horovod, 3 settings through servers: too many messages to try them all"),
      std::string::npos);
  EXPECT_TRUE(advice.text().ends_with("interrupted: the best until then\n"));
  EXPECT_EQ(advice.json()["left_out"][0]["settings"], 3);
  EXPECT_EQ(advice.json()["partial"], true);
}

}  // namespace
}  // namespace steptime
