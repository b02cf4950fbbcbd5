#include "sim/core/error.h"
#include "sim/step/schedule.h"
#include "tests/support/config_text.h"
#include "tests/support/fakes.h"
#include "tests/support/messages.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using Sizes = std::vector<std::int32_t>;

Sizes sizes_of(const std::string& parameters, const std::vector<std::int64_t>& bytes) {
  std::vector<Gradient> gradients;
  for (const std::int64_t each : bytes)
    gradients.push_back({Duration(1), each});
  const auto schedule = make<Schedule>(R"({"type": "fixed-buckets")" + parameters + "}");
  const BucketPlan plan =
      schedule->plan(workload_of(gradients).units(Granularity::kTensor), line({}, {}));
  EXPECT_FALSE(plan.after_backward);
  return plan.sizes;
}

TEST(FixedBuckets, TheGradientThatReachesTheCapacityClosesTheBucket) {
  // 4 + 5 = 9 < 10, + 1 = 10: closed; 30 alone; 2 is what is left.
  EXPECT_EQ(sizes_of(R"(, "capacity": "10 B", "first_capacity": "10 B")", {4, 5, 1, 30, 2}),
            (Sizes{3, 1, 1}));
  // One byte less and the bucket stays open.
  EXPECT_EQ(sizes_of(R"(, "capacity": "10 B", "first_capacity": "10 B")", {4, 5, 30, 2}),
            (Sizes{3, 1}));
}

TEST(FixedBuckets, TheFirstBucketHasItsOwnCapacity) {
  EXPECT_EQ(sizes_of(R"(, "capacity": "10 B", "first_capacity": "1 B")", {4, 5, 5, 5, 5}),
            (Sizes{1, 2, 2}));
}

// DistributedDataParallel: 1 MiB first, then 25 MiB.
TEST(FixedBuckets, DefaultsAreThoseOfPyTorch) {
  constexpr std::int64_t kMiB = 1 << 20;
  EXPECT_EQ(sizes_of("", {kMiB - 1, 1, 24 * kMiB, kMiB - 1, 1, 5}), (Sizes{2, 3, 1}));
}

TEST(FixedBuckets, ABucketIsReadyWithItsLastGradient) {
  constexpr Duration kMs{1'000'000'000};
  // {g1, g2} ready at 5 ms, T = 1 ms: end 6; {g3} ready at 6: end 7.
  const std::vector<Gradient> gradients{{2 * kMs, 1}, {3 * kMs, 1}, {1 * kMs, 1}};
  const auto schedule =
      make<Schedule>(R"({"type": "fixed-buckets", "capacity": "2 B", "first_capacity": "2 B"})");
  EXPECT_EQ(step_of(workload_of(gradients), *schedule, line(1 * kMs, {})).step, 7 * kMs);
}

TEST(FixedBuckets, GradientsAreCopiedUnlessTheyAreViews) {
  EXPECT_TRUE(make<Schedule>(R"({"type": "fixed-buckets"})")->copies_gradients());
  EXPECT_FALSE(make<Schedule>(R"({"type": "fixed-buckets", "views": true})")->copies_gradients());
  EXPECT_FALSE(make<Schedule>(R"({"type": "wfbp"})")->copies_gradients());
}

TEST(FixedBuckets, NothingToSend) {
  EXPECT_TRUE(sizes_of("", {}).empty());
}

TEST(FixedBuckets, ACapacityIsPositive) {
  EXPECT_EQ(message_of<InputError>(
                [] { make<Schedule>(R"({"type": "fixed-buckets", "capacity": "0 B"})"); }),
            "x.json: /schedule/capacity: must be positive, got \"0 B\"");
  EXPECT_EQ(message_of<InputError>(
                [] { make<Schedule>(R"({"type": "fixed-buckets", "first_capacity": "-1 B"})"); }),
            "x.json: /schedule/first_capacity: must be positive, got \"-1 B\"");
}

}  // namespace
}  // namespace steptime
