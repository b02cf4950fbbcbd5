// Which cases the property tests draw: those of the seed of the run (tests/support/seed.h), those
// of rapidcheck included.
#include "tests/support/seed.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace steptime {
namespace {

/// RC_PARAMS with a seed. rapidcheck reads it at its first property, and draws a new seed in every
/// run where it has none.
std::string with_seed(std::string params, std::int64_t seed) {
  if (params.find("seed=") == std::string::npos) params += fmt::format(" seed={}", seed);
  return params;
}

[[maybe_unused]] const int kSeeded = [] {
  const char* given = std::getenv("RC_PARAMS");
  return ::setenv("RC_PARAMS", with_seed(given != nullptr ? given : "", seed_of_the_run()).c_str(),
                  1);
}();

TEST(Seed, OfRapidcheckIsThatOfTheRun) {
  EXPECT_EQ(with_seed("max_success=10", 7), "max_success=10 seed=7");
  EXPECT_EQ(with_seed("seed=3 max_success=10", 7), "seed=3 max_success=10");
  const std::string params = std::getenv("RC_PARAMS");
  EXPECT_NE(params.find("seed="), std::string::npos) << params;
}

TEST(Seed, IsTheSameInEveryRun) {
  if (std::getenv("STEPTIME_SEED") != nullptr) GTEST_SKIP() << "STEPTIME_SEED is set";
  EXPECT_EQ(seed_of_the_run(), 1);
}

}  // namespace
}  // namespace steptime
