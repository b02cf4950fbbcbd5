// The seed of tests that draw at random.
#pragma once
#include <cstdint>
#include <cstdlib>

namespace steptime {

/// Seed of what the tests of this run draw. The same one in every run, so that a test passes or
/// fails for everyone alike; STEPTIME_SEED in the environment sets another one.
inline std::int64_t seed_of_the_run() {
  constexpr std::int64_t kFixedSeed = 1;
  const char* given = std::getenv("STEPTIME_SEED");
  return given != nullptr ? std::atoll(given) : kFixedSeed;
}

}  // namespace steptime
