#include "sim/workload/shared_gpu.h"

#include "tests/support/layouts.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

std::int64_t of(const StageTimes& rank, Spent what) {
  return rank.spent[static_cast<std::size_t>(what)].count();
}

LayoutPlan slowed(const TestLayout& test, ModelWork work, const char* overlap) {
  LayoutPlan plan = plan_of(test, std::move(work));
  plan.overlap = make<Overlap>(overlap);
  return plan;
}

constexpr const char* kTwiceAsLong = R"({"type": "factors", "compute": 2, "collective": 2})";

// Two layers of F 10 and B 30 on two replicas, a sum of 20 each. The second layer's begins at 50
// and takes 40 beside the first layer's backward pass, of which 20 are done at 90, and the rest at
// 100; then the first layer's sum.
TEST(SharedGpu, ASumAndTheBackwardPassBesideItByHand) {
  const TestLayout test{.degrees = {1, 1, 2, 1}, .costs = costs_of(Duration(20), 0)};
  for (const LayoutTimes& times :
       in_every_way(slowed(test, work_of_blocks(2, {10, 20, 10}), kTwiceAsLong))) {
    EXPECT_EQ(times.step.count(), 120);
    EXPECT_EQ(of(times.ranks[0], Spent::kCompute), 80);
    EXPECT_EQ(of(times.ranks[0], Spent::kOverlap), 20);
    EXPECT_EQ(of(times.ranks[0], Spent::kGradients), 20);
    EXPECT_EQ(times.ranks[0].exchanging.count(), 40 + 20);
  }
}

// The same with sums of 50: the backward pass takes 60, until 110, when 30 of the first sum are
// done; it ends at 130, and the other one at 180.
TEST(SharedGpu, ASumGoesOnByItselfWhenNothingIsComputed) {
  const TestLayout test{.degrees = {1, 1, 2, 1}, .costs = costs_of(Duration(50), 0)};
  const LayoutTimes times =
      play_layout(slowed(test, work_of_blocks(2, {10, 20, 10}), kTwiceAsLong));
  EXPECT_EQ(times.step.count(), 180);
  EXPECT_EQ(times.ranks[0].exchanging.count(), 80 + 50);
}

// Two places, F 10 and B 20, sends of 4 that slow both ends' compute down:
//
//   0  F0 0-10  F1 10-14 2 of it, 14-22       B0 50-70        B1 82-102
//   1  F0 14-22 8 of it, 22-26  B0 26-46  F1 46-50 2 of it, 50-58  B1 58-78
//   sent: F0 10-14, F1 22-26, B0 46-50, B1 78-82
TEST(SharedGpu, SendsSlowBothEndsDown) {
  const LayoutTimes times = play_layout(
      slowed({.degrees = {1, 1, 1, 2}, .micro_batches = 2, .costs = costs_of(Duration(4), 0)},
             work_of_blocks(2, {10, 15, 5}), R"({"type": "factors", "compute": 2})"));
  EXPECT_EQ(times.step.count(), 102);
  EXPECT_EQ(of(times.ranks[0], Spent::kOverlap), 2);
  EXPECT_EQ(of(times.ranks[1], Spent::kOverlap), 2 + 2);
}

// Half of a layer's products is cut into two pieces, one of which an exchange of 8 goes beside: 10
// of which 5 lie in front. Beside it 5 take 10, and by then 5 of the exchange are done.
TEST(SharedGpu, AnExchangeBesideAPieceOfItsProduct) {
  TestLayout test{.degrees = {2, 1, 1, 1}, .costs = costs_of(Duration(8), 0)};
  test.beside.tensor = true;
  const LayoutTimes times = play_layout(slowed(test, work_of_blocks(1, {20, 20, 0}), kTwiceAsLong));
  EXPECT_EQ(times.step.count(), 4 * (5 + 10 + 3));
  EXPECT_EQ(of(times.ranks[0], Spent::kOverlap), 4 * 5);
  EXPECT_EQ(of(times.ranks[0], Spent::kTensor), 4 * 3);
}

// Two nodes whose rings meet nothing: messages take the same. Of three layers the last one's B ends
// at 60; its sum of 24 B, two messages of 15, takes 60 beside the next B, which takes 60; so do the
// second sum and the last B, and the third sum takes 30.
TEST(SharedGpu, MessagesLoseTheSame) {
  TestLayout test{.degrees = {1, 1, 2, 1}};
  Cluster cluster;
  cluster.nodes = 2;
  cluster.network = {Duration(3), {1e12}};
  test.cluster = std::make_shared<const Cluster>(std::move(cluster));
  const auto step = [&](bool plays_messages) {
    test.plays_messages = plays_messages;
    return play_layout(slowed(test, work_of_blocks(3, {10, 20, 10}, 24), kTwiceAsLong))
        .step.count();
  };
  EXPECT_EQ(step(false), step(true));
  EXPECT_EQ(step(false), 60 + 60 + 60 + 30);
}

}  // namespace
}  // namespace steptime
