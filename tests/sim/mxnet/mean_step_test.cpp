#include "sim/mxnet/mean_step.h"

#include "sim/core/fingerprint.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::seconds;

EmbeddedStep run_of(Duration step, std::uint64_t fingerprint) {
  EmbeddedStep run;
  run.times = {step, step / 2, step / 3, fingerprint, step / 4};
  run.cold = 2 * step;
  run.attribution = {.exposed = step, .idle = step / 2, .causes = {{"forward pass", "GPU", 1}}};
  run.attribution.waits = {{"conv", step}};
  run.buckets = {{.end = step}};
  return run;
}

TEST(MeanStep, OfOneRunIsThatRun) {
  const std::vector<EmbeddedStep> one{run_of(seconds(12), 7)};
  EXPECT_EQ(mean_of(one).times, one[0].times);
  EXPECT_EQ(mean_of(one).cold, seconds(24));
}

TEST(MeanStep, HasMeansOfTimesAndTheFirstRunsKeys) {
  // 12 and 24 s: 18.
  const std::vector<EmbeddedStep> runs{run_of(seconds(12), 7), run_of(seconds(24), 8)};
  const EmbeddedStep mean = mean_of(runs);
  EXPECT_EQ(mean.times, (StepTimes{seconds(18), seconds(9), seconds(6), mix(7, 8),
                                   std::chrono::milliseconds(4500)}));
  EXPECT_EQ(mean.cold, seconds(36));
  EXPECT_EQ(mean.attribution.exposed, seconds(18));
  EXPECT_EQ(mean.attribution.idle, seconds(9));
  ASSERT_EQ(mean.attribution.waits.size(), 1U);
  EXPECT_EQ(mean.attribution.waits[0].second, Duration(seconds(18)));
  ASSERT_EQ(mean.attribution.causes.size(), 1U);
  EXPECT_EQ(mean.attribution.causes[0].seconds, 1);
  EXPECT_EQ(mean.buckets[0].end, seconds(12));
}

TEST(MeanStep, HoldsTimesWhoseSumDoesNotFit) {
  const std::vector<EmbeddedStep> runs(4, run_of(seconds(4'000'000), 1));  // of at most 9.2e6 s
  EXPECT_EQ(mean_of(runs).times.step, seconds(4'000'000));
}

}  // namespace
}  // namespace steptime
