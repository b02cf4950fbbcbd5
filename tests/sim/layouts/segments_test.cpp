#include "sim/layouts/segments.h"

#include "tests/support/layouts.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Legs StageLayer::*kBoth[] = {&StageLayer::backward, &StageLayer::weights};

/// Four layers with a bucket each but the second, which has no parameters.
LayoutPlan four_layers() {
  ModelWork work = work_of_blocks(4, {10, 15, 5});
  work.layers[1].tensors.clear();
  return plan_of({.degrees = {1, 1, 2, 1}}, std::move(work));
}

TEST(Segments, APassThatNeedsNothingIsOne) {
  const LayoutPlan plan = four_layers();
  const auto forward = forward_segments(plan.stages[0], false);
  ASSERT_EQ(forward.size(), 1);
  EXPECT_EQ(forward[0].length.count(), 40);
  EXPECT_EQ(forward[0].needs, 3);  // as many as there are buckets: none
  const auto backward = backward_segments(plan.stages[0], kBoth, false);
  ASSERT_EQ(backward.size(), 1);
  EXPECT_EQ(backward[0].length.count(), 80);
  EXPECT_EQ(backward[0].makes, 0);
}

// Buckets in the order of the backward pass: layers 3, 2, 0. Forward it stops before layers 0, 2
// and 3, whose weights are those of buckets 2, 1 and 0; layer 1 goes with layer 0.
TEST(Segments, AForwardPassStopsBeforeEachBucketsWeights) {
  const auto forward = forward_segments(four_layers().stages[0], true);
  ASSERT_EQ(forward.size(), 3);
  EXPECT_EQ(forward[0].length.count(), 20);
  EXPECT_EQ(forward[0].needs, 2);
  EXPECT_EQ(forward[1].needs, 1);
  EXPECT_EQ(forward[2].needs, 0);
}

TEST(Segments, ABackwardPassStopsBehindEachBucketsGradients) {
  const auto backward = backward_segments(four_layers().stages[0], kBoth, true);
  ASSERT_EQ(backward.size(), 3);
  EXPECT_EQ(backward[0].makes, 1);
  EXPECT_EQ(backward[1].makes, 2);
  EXPECT_EQ(backward[2].makes, 3);
  EXPECT_EQ(backward[2].length.count(), 40);  // layers 1 and 0
}

// F 10 ps, then an exchange of 5 B that takes 5 ps, then 10 ps.
TEST(Segments, TheRestOfOneIsWhatItsLastLegsAre) {
  const LinearCollective line(LinearCost{{}, {1e-12}});
  const Leg compute{.compute = Duration(10)};
  const Leg exchange{.exchange = {GroupKind::kTensor, &line, {5}}, .alone = Duration(5)};
  const Segment segment{.legs = {&compute, &exchange, &compute}, .needs = 1};
  const Segment rest = rest_of(segment, 1);
  EXPECT_EQ(rest.length.count(), 15);
  EXPECT_EQ(rest.spent[static_cast<std::size_t>(Spent::kCompute)].count(), 10);
  EXPECT_EQ(rest.spent[static_cast<std::size_t>(Spent::kTensor)].count(), 5);
  EXPECT_EQ(rest.bytes[static_cast<std::size_t>(GroupKind::kTensor)], 5);
  EXPECT_EQ(rest.exchanges, 1);
  EXPECT_EQ(rest_of(segment, 3).length, Duration{});
}

}  // namespace
}  // namespace steptime
