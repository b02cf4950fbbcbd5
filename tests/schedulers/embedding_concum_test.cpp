// Do `outstanding` keys go at a time, each with its barrier?
#include "tests/support/embedded.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::vector<LayerTimes> kTwo{{kSecond / 2, 2 * kSecond}, {kSecond / 2, 2 * kSecond}};

// Both gradients are there at C = 5 s. Start-ups overlap, bandwidth is shared.
TEST(ConCum, TwoAtATime) {
  const auto concum = embedding_of("concum");
  EXPECT_EQ(run_embedded(*concum, layers_of(kTwo), line(kSecond, {})).times.step, 6 * kSecond);
  EXPECT_EQ(run_embedded(*concum, layers_of(kTwo), line({}, kSecond)).times.step, 7 * kSecond);
}

TEST(ConCum, OneAtATimeIsSerial) {
  const auto concum = embedding_of("concum", R"("outstanding": 1)");
  EXPECT_EQ(run_embedded(*concum, layers_of(kTwo), line(kSecond, {})).times.step, 7 * kSecond);
}

TEST(ConCum, OneCommunicatorIsSerial) {
  const auto concum = embedding_of("concum", R"("communicators": 1)");
  EXPECT_EQ(run_embedded(*concum, layers_of(kTwo), line(kSecond, {})).times.step, 7 * kSecond);
}

TEST(ConCum, OneThreadIsSerial) {
  const auto concum = embedding_of("concum", R"("threads": 1)");
  EXPECT_EQ(run_embedded(*concum, layers_of(kTwo), line(kSecond, {})).times.step, 7 * kSecond);
}

// Four keys, two outstanding. Before: a barrier in front of keys 0 and 2, so pairs (0 1) (2 3).
// After: behind the pushes of keys 0 and 2, so (0) (1 2) (3): one all-reduce more in sequence. A
// barrier among 2 ranks takes one latency, 10 ms; the second one is between the all-reduces, the
// first one of a step is before the gradients exist when it comes before the push.
TEST(ConCum, BarrierBeforeOrAfter) {
  const std::vector<LayerTimes> four(4, {kSecond / 4, kSecond});
  const auto run = [&](const std::string& barrier) {
    const auto concum = embedding_of("concum", R"("barrier": ")" + barrier + "\"");
    return run_embedded(*concum, layers_of(four), line(kSecond, {}),
                        {.workers = 2, .latency = kSecond / 100})
        .times.step;
  };
  EXPECT_EQ(run("before"), from_seconds(5 + 2 + 0.01));
  EXPECT_EQ(run("after"), from_seconds(5 + 3 + 0.02));
}

}  // namespace
}  // namespace steptime
