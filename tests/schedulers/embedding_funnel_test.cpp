// Is the main thread serial with the communication?
#include "tests/support/embedded.h"

#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

//  main     push t1: waits for t1          [ar1][ar2][ar3]
//  backward [ t3 2 s ][ t2 2 s ][ t1 2 s ]                  9 s: key 0 is the last gradient
TEST(Funnel, ForwardKeyOrderHidesNothing) {
  const std::vector<LayerTimes> times(3, {Duration{}, 2 * kSecond});
  const EmbeddedStep step =
      run_embedded(*embedding_of("funnel"), layers_of(times), line(kSecond, {}));
  EXPECT_EQ(step.times.step, 9 * kSecond);
  EXPECT_EQ(step.attribution.exposed, 3 * kSecond);
}

TEST(Funnel, BackwardKeyOrderOverlapsTheBackwardPass) {
  const std::vector<LayerTimes> times(3, {Duration{}, 2 * kSecond});
  const EmbeddedStep step = run_embedded(*embedding_of("funnel", R"("key_order": "backward")"),
                                         layers_of(times), line(kSecond, {}));
  EXPECT_EQ(step.times.step, 7 * kSecond);
  EXPECT_EQ(step.attribution.hidden_under_backward, 2 * kSecond);
}

// Calls of p = 100 ms, copies of c = 10 ms, wake-ups of w = 50 ms. From the end of the backward
// pass: copy and wake-up, ar1, pull, update; push, copy, wake-up, ar2, pull, update; metric and its
// wake-up, the call of the next forward_backward. The push of the first key hides under computing:
//   C + (c + w + S + 2p) + (p + c + w + S + 2p) + (p + w) + p = 3 + 2 + 7p + 2c + 3w.
TEST(Funnel, EveryCallIsSerial) {
  const std::vector<LayerTimes> times{{kSecond / 2, kSecond}, {kSecond / 2, kSecond}};
  const auto embedding = embedding_of(
      "funnel", R"("python_call": "100 ms", "copy_latency": "10 ms", "wake_up": "50 ms")");
  const EmbeddedStep step = run_embedded(*embedding, layers_of(times), line(kSecond, {}));
  EXPECT_EQ(step.times.step, from_seconds(3 + 2 + 0.7 + 0.02 + 0.15));
  ASSERT_EQ(step.attribution.waits.size(), 1u);
  EXPECT_EQ(step.attribution.waits[0].first, "the main thread, which pushes the segment");
}

}  // namespace
}  // namespace steptime
