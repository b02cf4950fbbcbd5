#include "sim/step/schedule.h"
#include "tests/support/config_text.h"
#include "tests/support/fakes.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kMs{1'000'000'000};

// t_f + t_b + T(all bytes) = 4 + 6 + (1 + 0.1 x 30) ms.
TEST(SyncEasgd, SendsOneMessageAfterTheBackwardPass) {
  const std::vector<Gradient> gradients{{2 * kMs, 10}, {3 * kMs, 20}, {1 * kMs, 0}};
  const Workload w = workload_of(gradients, 4 * kMs);
  const auto schedule = make<Schedule>(R"({"type": "sync-easgd"})");
  const BucketPlan plan = schedule->plan(w.units(Granularity::kTensor), line({}, {}));
  EXPECT_EQ(plan.sizes, (std::vector<std::int32_t>{3}));
  EXPECT_TRUE(plan.after_backward);
  EXPECT_EQ(step_of(w, *schedule, line(1 * kMs, kMs / 10)).step, 14 * kMs);
}

TEST(SyncEasgd, LayersThatHaveNoGradientDelayTheMessageToo) {
  // The only gradient exists at 2 ms, the backward pass ends at 5 ms: 5 + 1.
  Workload w = workload_of(std::vector<Gradient>{{2 * kMs, 10}});
  w.trace.layers.insert(w.trace.layers.begin(), {.name = "relu", .backward = 3 * kMs});
  EXPECT_EQ(step_of(w, *make<Schedule>(R"({"type": "sync-easgd"})"), line(1 * kMs, {})).step,
            6 * kMs);
}

TEST(SyncEasgd, NothingToSend) {
  EXPECT_TRUE(make<Schedule>(R"({"type": "sync-easgd"})")->plan({}, line({}, {})).sizes.empty());
}

}  // namespace
}  // namespace steptime
