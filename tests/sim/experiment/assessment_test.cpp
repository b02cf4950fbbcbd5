#include "sim/experiment/assessment.h"

#include "sim/experiment/prediction.h"
#include "tests/support/simulated.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::string schedule_of(const std::string& patch) {
  const TinyFolder folder;
  const Experiment e = tiny_experiment(folder, patch);
  return prediction_of(e, simulate(e), {}).kind[Attribute::kSchedule].text();
}

TEST(Assessment, ALayoutIsAKindOfItsOwn) {
  EXPECT_EQ(schedule_of(R"({"strategy": {"layout": {}}})"), "layout");
  EXPECT_NE(schedule_of("{}"), "layout");
}

TEST(Assessment, SaysWhichPartsExtrapolate) {
  const TinyFolder folder;
  const Experiment plain = tiny_experiment(folder);
  EXPECT_EQ(extrapolated(plain, true), std::vector<std::string>{});
  const Experiment planned = tiny_experiment(folder, R"({"strategy": {"schedule": "optimal"}})");
  EXPECT_EQ(extrapolated(planned, true), std::vector<std::string>{});
  EXPECT_EQ(extrapolated(planned, false).size(), 1u);
}

}  // namespace
}  // namespace steptime
