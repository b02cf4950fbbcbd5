#include "sim/step/schedule.h"
#include "tests/support/config_text.h"
#include "tests/support/fakes.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kMs{1'000'000'000};

// 004 equation 3: t_f + t_b + the sum of all messages.
//
//            0    2    4    6    8    10   12   14   16 ms
//  compute   |forward  | g1 |  g2   |g3|
//  comm                                | g1 |  g2   |g3|     T = 1 ms + 0.1 ms/B: 2, 3, 1 ms
TEST(Naive, SendsEveryGradientAfterTheBackwardPass) {
  const std::vector<Gradient> gradients{{2 * kMs, 10}, {3 * kMs, 20}, {1 * kMs, 0}};
  const Workload w = workload_of(gradients, 4 * kMs);
  const auto schedule = make<Schedule>(R"({"type": "naive"})");
  const BucketPlan plan = schedule->plan(w.units(Granularity::kTensor), line({}, {}));
  EXPECT_EQ(plan.sizes, (std::vector<std::int32_t>{1, 1, 1}));
  EXPECT_TRUE(plan.after_backward);
  EXPECT_EQ(step_of(w, *schedule, line(1 * kMs, kMs / 10)).step, (4 + 6 + 2 + 3 + 1) * kMs);
}

TEST(Naive, NothingToSend) {
  const auto schedule = make<Schedule>(R"({"type": "naive"})");
  EXPECT_TRUE(schedule->plan({}, line({}, {})).sizes.empty());
}

TEST(Naive, ALayersTensorsMayTravelTogether) {
  Workload w = workload_of(std::vector<Gradient>{{1 * kMs, 10}});
  w.trace.layers[0].tensors.push_back({"bias", 5});
  const LinearCollective collective = line(1 * kMs, kMs / 10);
  // Tensors: 1 + (1 + 1) + (1 + 0.5) = 4.5 ms; layer: 1 + (1 + 1.5) = 3.5 ms.
  EXPECT_EQ(step_of(w, *make<Schedule>(R"({"type": "naive"})"), collective).step, 45 * kMs / 10);
  EXPECT_EQ(
      step_of(w, *make<Schedule>(R"({"type": "naive", "granularity": "layer"})"), collective).step,
      35 * kMs / 10);
}

}  // namespace
}  // namespace steptime
