#include "sim/layouts/unit_weights.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// What is asked for (+) and let go (-), of two units in one forward and one backward pass; a point
/// for each visit's begin.
std::string calls_of(UnitGathering gathering) {
  std::string log;
  const auto note = [&log](char what) {
    return [&log, what](std::int32_t, std::size_t unit) { log += what + std::to_string(unit); };
  };
  std::int64_t calls = 0;
  UnitWeights weights(gathering,
                      {.pass =
                           [](std::int64_t k) {
                             return Pass{k == 0 ? PassKind::kForward : PassKind::kBackward, 0, 0};
                           },
                       .passes = [] { return std::int64_t{2}; },
                       .units = {2},
                       .is_last = [](Pass) { return true; },
                       .gather =
                           [&](std::int32_t c, std::size_t unit) {
                             note('+')(c, unit);
                             return ++calls;
                           },
                       .let_go = note('-')});
  weights.start();
  for (int visit = 0; visit < 4; ++visit) {
    weights.begin();
    log += '.';
    weights.end();
  }
  return log;
}

// Units are numbered in the order of the backward pass: the forward pass visits 1, then 0.
TEST(UnitWeights, AForwardPassRunsAheadAndABackwardPassPrefetches) {
  EXPECT_EQ(calls_of({.at_once = 2}), "+1+0.-1+0.-0+1.-0.-1");
}

TEST(UnitWeights, WithoutPrefetchTheNextUnitWaitsForTheEndOfTheVisit) {
  EXPECT_EQ(calls_of({.prefetches = false, .at_once = 2}), "+1+0.-1+0.-0.-0+1.-1");
}

TEST(UnitWeights, OneAtATime) {
  EXPECT_EQ(calls_of({.at_once = 1}), "+1.-1+0.-0+0.-0+1.-1");
}

TEST(UnitWeights, KeptWeightsAreLetGoBehindTheBackwardPass) {
  EXPECT_EQ(calls_of({.reshards = false, .at_once = 2}), "+1+0...-0.-1");
}

}  // namespace
}  // namespace steptime
