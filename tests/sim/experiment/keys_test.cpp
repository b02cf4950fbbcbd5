#include "sim/experiment/keys.h"

#include "sim/config/registry.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Keys, ChooseFromRegistriesThatAreThere) {
  for (const Param& key : strategy_params()) {
    if (!key.choice.empty()) {
      EXPECT_TRUE(Catalogue::all().contains(key.choice)) << key.key;
    }
  }
}

// A section has a table of its own: that of "strategy" and of "run" are the ones below.
TEST(Keys, OfAnExperimentLeadToThoseOfItsSections) {
  int found = 0;
  for (const Param& key : experiment_params()) {
    if (key.key == "strategy") found += &key.table() == &strategy_params() ? 1 : 0;
    if (key.key == "run") found += &key.table() == &run_params() ? 1 : 0;
  }
  EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace steptime
