#include "sim/step/schedule.h"
#include "tests/support/config_text.h"
#include "tests/support/fakes.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kMs{1'000'000'000};

// 004 equations 6 to 8.
//
//            0    2    4    6    8    10   12   14 ms
//  compute   |forward  | g1 |  g2   |g3|
//  comm                     | g1 |  |  g2   |g3|     T = 1 ms + 0.1 ms/B: 2, 3, 1 ms
//
// tau_c: 6; max(6 + 2, 9) = 9; max(9 + 3, 10) = 12. End: 12 + 1 = 13.
TEST(Wfbp, SendsEveryGradientAsSoonAsItExists) {
  const std::vector<Gradient> gradients{{2 * kMs, 10}, {3 * kMs, 20}, {1 * kMs, 0}};
  const Workload w = workload_of(gradients, 4 * kMs);
  const auto schedule = make<Schedule>(R"({"type": "wfbp"})");
  const BucketPlan plan = schedule->plan(w.units(Granularity::kTensor), line({}, {}));
  EXPECT_EQ(plan.sizes, (std::vector<std::int32_t>{1, 1, 1}));
  EXPECT_FALSE(plan.after_backward);
  EXPECT_EQ(step_of(w, *schedule, line(1 * kMs, kMs / 10)).step, 13 * kMs);
}

TEST(Wfbp, FastMessagesHideBehindTheBackwardPass) {
  // Each message of 1 ms ends before the next gradient exists: only the last one is exposed.
  const std::vector<Gradient> gradients{{2 * kMs, 1}, {2 * kMs, 1}, {2 * kMs, 1}};
  const StepTimes times =
      step_of(workload_of(gradients), *make<Schedule>(R"({"type": "wfbp"})"), line(1 * kMs, {}));
  EXPECT_EQ(times.step, 7 * kMs);
  EXPECT_EQ(times.exposed_comm, 1 * kMs);
  EXPECT_EQ(times.comm_busy, 3 * kMs);
}

TEST(Wfbp, NothingToSend) {
  EXPECT_TRUE(make<Schedule>(R"({"type": "wfbp"})")->plan({}, line({}, {})).sizes.empty());
}

}  // namespace
}  // namespace steptime
