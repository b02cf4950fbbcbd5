#include "sim/core/error.h"
#include "tests/support/fakes.h"
#include "tests/support/messages.h"
#include "tests/support/policies.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;
/// 1 ms a byte.
constexpr auto kMsPerByte = [](Bytes m) { return Duration(milliseconds(m.count)); };

std::string priority(const char* partition, const char* credit) {
  return fmt::format(R"({{"type": "priority", "partition": "{}", "credit": "{}"}})", partition,
                     credit);
}

TEST(Priority, WithCreditForAllItIsTheOrderOfReadiness) {
  const PolicyRun run(priority("9000 TB", "9000 TB"), {5, 1, 1},
                      {milliseconds(0), milliseconds(1), milliseconds(2)}, kMsPerByte);
  EXPECT_EQ(run.order(), (std::vector<std::int32_t>{0, 1, 2}));
}

/// Gradients g0 (the last layer's), g1, g2 (the first layer's) are ready at 0, 1 and 2 ms; g0 takes
/// 5 ms. With credit for one, g2 overtakes g1, which was ready before it:
///
///   ms   0    5 6 7
///   g    00000 2 1
TEST(Priority, WithCreditForOneTheEarliestLayerOvertakes) {
  const PolicyRun run(priority("9000 TB", "1 B"), {5, 1, 1},
                      {milliseconds(0), milliseconds(1), milliseconds(2)}, kMsPerByte);
  EXPECT_EQ(run.order(), (std::vector<std::int32_t>{0, 2, 1}));
  EXPECT_EQ(run.sent[1].start, Time(milliseconds(5)));
}

TEST(Priority, CreditCountsBytesUnderWay) {
  // Of the two that are ready at once the earlier layer's goes first. 4 and 4 of 8 are under way at
  // once, so that the third, of the earliest layer, comes after them.
  const PolicyRun run(priority("9000 TB", "8 B"), {4, 4, 1},
                      {milliseconds(0), milliseconds(0), milliseconds(1)}, kMsPerByte);
  EXPECT_EQ(run.order(), (std::vector<std::int32_t>{1, 0, 2}));
  // With 7 the second has to wait, and is overtaken.
  const PolicyRun less(priority("9000 TB", "7 B"), {4, 4, 1},
                       {milliseconds(0), milliseconds(0), milliseconds(1)}, kMsPerByte);
  EXPECT_EQ(less.order(), (std::vector<std::int32_t>{1, 2, 0}));
}

TEST(Priority, LargeGradientsAreCut) {
  // 10 B in parts of 4, 4 and 2; 4 B stay whole.
  const std::vector<Gradient> gradients{{milliseconds(1), 10}, {milliseconds(1), 4}};
  const Workload workload = workload_of(gradients);
  const auto schedule = make<Schedule>(priority("4 B", "4 B"));
  const StepPlan plan = plan_of(workload, *schedule, line({}, Duration(1)));
  ASSERT_EQ(plan.buckets.size(), 4u);
  const std::vector<std::int64_t> sizes{4, 4, 2, 4};
  const std::vector<std::int64_t> offsets{0, 4, 8, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(plan.buckets[i].bytes.count, sizes[i]);
    EXPECT_EQ(plan.buckets[i].offset.count, offsets[i]);
    EXPECT_EQ(plan.buckets[i].cost, Duration(sizes[i]));
  }
  EXPECT_EQ(plan.buckets[2].first_unit, 0);
  EXPECT_EQ(plan.buckets[3].first_unit, 1);
}

TEST(Priority, LayersWaitForTheirOwnUnlessToldOtherwise) {
  EXPECT_TRUE(make<Schedule>(R"({"type": "priority"})")->layers_wait_for_their_own());
  EXPECT_FALSE(
      make<Schedule>(R"({"type": "priority", "waits": "step"})")->layers_wait_for_their_own());
}

TEST(Priority, NothingIsNoPartition) {
  EXPECT_EQ(message_of<InputError>([] { make<Schedule>(priority("0 B", "1 B")); }),
            "x.json: /schedule/partition: must be positive, got \"0 B\"");
}

}  // namespace
}  // namespace steptime
