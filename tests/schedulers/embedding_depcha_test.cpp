// Does the chain keep the order, and does the next forward pass hide it?
#include "tests/support/embedded.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// The two cases of tests/sim/mxnet/engine_cases.json: 3 layers of 2 s, all-reduces of 1 s.
TEST(DepCha, KeyOrderDecidesAboutTheBackwardPass) {
  const std::vector<LayerTimes> times(3, {Duration{}, 2 * kSecond});
  const LinearCollective collective = line(kSecond, {});
  EXPECT_EQ(run_embedded(*embedding_of("depcha"), layers_of(times), collective).times.step,
            9 * kSecond);
  EXPECT_EQ(run_embedded(*embedding_of("depcha", R"("key_order": "backward")"), layers_of(times),
                         collective)
                .times.step,
            7 * kSecond);
}

//  comm               [ar1][ar2]
//  compute  [B2][B1]       [F1][F2][B2][B1]      B 2 s, ar1 1 s, F 2 s: 5 s; ar2 hides under F1
TEST(DepCha, TheNextForwardPassHidesTheRest) {
  const std::vector<LayerTimes> times(2, {kSecond, kSecond});
  const EmbeddedStep step =
      run_embedded(*embedding_of("depcha", R"("bulk": 1)"), layers_of(times), line(kSecond, {}));
  EXPECT_EQ(step.times.step, 5 * kSecond);
  EXPECT_EQ(step.attribution.hidden_under_forward, kSecond);
  EXPECT_EQ(step.attribution.exposed, kSecond);
  ASSERT_EQ(step.attribution.waits.size(), 1u);
  EXPECT_EQ(step.attribution.waits[0].first, "exchange and update of t1");
  EXPECT_EQ(step.attribution.transient, Duration{});
}

// In one bulk the forward pass waits for both weights.
TEST(DepCha, ABulkWaitsForAllItsWeights) {
  const std::vector<LayerTimes> times(2, {kSecond, kSecond});
  const EmbeddedStep step =
      run_embedded(*embedding_of("depcha"), layers_of(times), line(kSecond, {}));
  EXPECT_EQ(step.times.step, 6 * kSecond);
}

// The main thread's calls are hidden as long as they fit; the copies to and from the host are not:
// c before ar1, and c in every operation of the chain up to the weight that is needed first.
TEST(DepCha, CallsAreHiddenCopiesAreNot) {
  const std::vector<LayerTimes> times(2, {kSecond, kSecond});
  const auto embedding =
      embedding_of("depcha", R"("bulk": 1, "python_call": "100 ms", "copy_latency": "10 ms")");
  const EmbeddedStep step = run_embedded(*embedding, layers_of(times), line(kSecond, {}));
  // B 2, copy out, ar1, copy back, F1 1 while ar2 and its copy back take 1.01 s, F2 1.
  EXPECT_EQ(step.times.step, from_seconds(2 + 0.01 + 1.01 + 1.01 + 1));
}

}  // namespace
}  // namespace steptime
