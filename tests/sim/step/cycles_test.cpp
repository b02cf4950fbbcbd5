#include "sim/step/cycles.h"

#include "tests/support/policies.h"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

using Starts = std::vector<std::pair<std::int32_t, std::int64_t>>;  // gradient, ms

/// Gradients of 1 B, ready at these ms, 6 ms for an all-reduce.
Starts starts(std::vector<int> ready, int cycle, Cycles::Negotiation negotiation) {
  const auto made = [&](std::span<const Bucket>) {
    return std::make_unique<Cycles>(std::make_unique<InOrder>(), milliseconds(cycle), negotiation);
  };
  std::vector<Duration> times;
  for (const int at : ready)
    times.emplace_back(milliseconds(at));
  const PolicyRun run(made, std::vector<std::int64_t>(ready.size(), 1), times,
                      [](Bytes) { return milliseconds(6); });
  Starts list;
  for (const auto& sent : run.sent) {
    EXPECT_EQ(sent.buckets.size(), 1U);
    list.emplace_back(sent.buckets.front(), since_start(sent.start) / milliseconds(1));
  }
  return list;
}
Duration free_of_charge(std::size_t) {
  return {};
}

TEST(Cycles, BeginAtTheEndOrAfterTheCycleTime) {
  // Ready at 0, 1 and 7 ms; cycles that reduce begin at 0, max(6, 5) and max(12, 11).
  EXPECT_EQ(starts({0, 1, 7}, 5, free_of_charge), (Starts{{0, 0}, {1, 6}, {2, 12}}));
}

TEST(Cycles, IdleOnesLieACycleApart) {
  // Nothing is ready at 0, 5 and 10 ms: the gradient of 11 ms waits for 15.
  EXPECT_EQ(starts({11}, 5, free_of_charge), (Starts{{0, 15}}));
}

TEST(Cycles, AgreeingTakesTime) {
  // 1 ms and 1 ms a gradient: the cycle of 0 agrees at 2 ms on the first one, which ends at 8; that
  // of 8 agrees on both others at 11, which travel at 11 and 17.
  const auto negotiation = [](std::size_t n) { return milliseconds(1 + static_cast<int>(n)); };
  EXPECT_EQ(starts({0, 1, 7}, 5, negotiation), (Starts{{0, 2}, {1, 11}, {2, 17}}));
}

TEST(Cycles, ThatAreEmptyAgreeToo) {
  // Without a cycle time an empty cycle takes the 4 ms of its negotiation: what is ready at 5 ms
  // waits for 8, and travels at 12.
  EXPECT_EQ(starts({5}, 0, [](std::size_t) { return milliseconds(4); }), (Starts{{0, 12}}));
}

TEST(Cycles, MayLieInEachOther) {
  // 6 ms for an all-reduce. The second gradient is ready at 1 ms; both cycles end with the first
  // all-reduce, and begin again at 6. They end at 12: what is ready at 13 is heard by the outer one
  // at 12 + 4, and by the inner one at 12 + 5.
  const auto made = [](std::span<const Bucket>) {
    auto inner =
        std::make_unique<Cycles>(std::make_unique<InOrder>(), milliseconds(5), free_of_charge);
    return std::make_unique<Cycles>(std::move(inner), milliseconds(4), free_of_charge);
  };
  const PolicyRun run(made, {1, 1, 1}, {Duration{}, milliseconds(1), milliseconds(13)},
                      [](Bytes) { return milliseconds(6); });
  ASSERT_EQ(run.sent.size(), 3U);
  EXPECT_EQ(run.sent[0].start, Time{});
  EXPECT_EQ(run.sent[1].start, Time(milliseconds(6)));
  EXPECT_EQ(run.sent[2].start, Time(milliseconds(17)));
}

TEST(Cycles, WithoutTimeAreNone) {
  EXPECT_EQ(starts({0, 1, 20}, 0, free_of_charge), (Starts{{0, 0}, {1, 6}, {2, 20}}));
}

}  // namespace
}  // namespace steptime
