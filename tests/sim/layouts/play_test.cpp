#include "sim/layouts/play.h"

#include "sim/core/error.h"
#include "tests/support/layouts.h"
#include "tests/support/tiny_experiment.h"

#include <memory>
#include <numeric>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

std::int64_t of(const StageTimes& rank, Spent what) {
  return rank.spent[static_cast<std::size_t>(what)].count();
}

// Two ranks, three micro-batches, F = 2, B = 4, a transfer of 1 beside compute. Rank 0 holds two:
//
//   0  F0 0-2  F1 2-4  ........ B0 10-14 F2 14-16 B1 16-20 ........ B2 24-28
//   1  ....... F0 3-5  B0 5-9 F1 9-11  B1 11-15 ........ F2 17-19 B2 19-23
//   rank 0: B0's gradient is sent at 9, there at 10; B1's, sent at 15, is there at 16, B2's at 24;
//   rank 1: F2, sent at 16, is there at 17.
TEST(PlayLayout, TwoRanksByHand) {
  for (const LayoutTimes& times : in_every_way(
           plan_of({.degrees = {1, 1, 1, 2}, .micro_batches = 3, .costs = costs_of(Duration(1), 0)},
                   work_of_blocks(2, {2, 3, 1})))) {
    EXPECT_EQ(times.step.count(), 28);
    EXPECT_EQ(of(times.ranks[0], Spent::kCompute), 18);
    EXPECT_EQ(of(times.ranks[1], Spent::kCompute), 18);
    // Rank 0 waits 4-10 and 20-24, of which the last ps each is the transfer's.
    EXPECT_EQ(of(times.ranks[0], Spent::kPipeline), 2);
    EXPECT_EQ(of(times.ranks[0], Spent::kBubble), 8);
    for (const StageTimes& rank : times.ranks) {
      EXPECT_EQ(std::accumulate(rank.spent.begin(), rank.spent.end(), Duration{}), times.step);
      for (const HeldFor what : {HeldFor::kActivations, HeldFor::kBuffers})
        EXPECT_EQ(rank.left[static_cast<std::size_t>(what)], 0);
    }
  }
}

// The same, but a rank waits for its own sends: rank 0 sends F0 2-3, computes F1 3-5, sends it 5-6;
// rank 1: F0 3-5 (last stage sends nothing forward), B0 5-9, sends 9-10, F1 10-12, B1 12-16, sends
// 16-17; rank 0: B0 10-14, F2 14-16, sends 16-17, B1 17-21; rank 1: F2 17-19, B2 19-23, sends
// 23-24; rank 0: B2 24-28.
TEST(PlayLayout, SendsThatComputeWaitsFor) {
  TestLayout test{.degrees = {1, 1, 1, 2}, .micro_batches = 3, .costs = costs_of(Duration(1), 0)};
  test.beside.pipeline = false;
  for (const LayoutTimes& times : in_every_way(plan_of(test, work_of_blocks(2, {2, 3, 1})))) {
    EXPECT_EQ(times.step.count(), 28);
    EXPECT_EQ(of(times.ranks[0], Spent::kPipeline),
              3 + 2);  // three sends, and the end of two waits
  }
}

// Two ranks with two chunks each, four micro-batches in one group, F = 2, B = 4, a transfer of 1.
// Rank 0 has 6 forward passes before its pairs, rank 1 has 4; of these and of the backward passes
// behind the pairs the sends are awaited, so that they begin 3 and 5 apart instead of 2 and 4:
//
//   0  F0.0 0-2 F1.0 3-5 F2.0 6-8 F3.0 9-11 F0.1 12-14 F1.1 15-17
//      F2.1 18-20 B0.1 22-26 F3.1 26-28 B1.1 28-32
//      B2.1 34-38 B3.1 40-44 B0.0 45-49 B1.0 49-53 B2.0 54-58 B3.0 59-63
//   1  F0.0 3-5 F1.0 6-8 F2.0 9-11 F3.0 12-14
//      F0.1 15-17 B0.1 17-21 F1.1 21-23 B1.1 23-27 F2.1 27-29 B2.1 29-33 F3.1 33-35 B3.1 35-39
//      B0.0 39-43 B1.0 44-48 B2.0 49-53 B3.0 54-58
//
// All beside passes:
//
//   0  F0.0 0-2 F1.0 2-4 F2.0 4-6 F3.0 6-8 F0.1 8-10 F1.1 10-12
//      F2.1 12-14 B0.1 18-22 F3.1 22-24 B1.1 24-28
//      B2.1 30-34 B3.1 36-40 B0.0 40-44 B1.0 44-48 B2.0 48-52 B3.0 52-56
//   1  F0.0 3-5 F1.0 5-7 F2.0 7-9 F3.0 9-11
//      F0.1 11-13 B0.1 13-17 F1.1 17-19 B1.1 19-23 F2.1 23-25 B2.1 25-29 F3.1 29-31 B3.1 31-35
//      B0.0 35-39 B1.0 39-43 B2.0 43-47 B3.0 47-51
TEST(PlayLayout, SendsThatAnOrderAwaits) {
  TestLayout test{.degrees = {1, 1, 1, 2},
                  .order = R"({"type": "interleaved", "chunks": 2, "microbatch_group": 4})",
                  .micro_batches = 4,
                  .costs = costs_of(Duration(1), 0)};
  EXPECT_EQ(step_in_every_way(plan_of(test, work_of_blocks(4, {2, 3, 1}))), 56);
  test.beside.pipeline = false;
  test.beside.pipeline_by_order = true;
  EXPECT_EQ(step_in_every_way(plan_of(test, work_of_blocks(4, {2, 3, 1}))), 63);
}

// ZeRO-1 on one rank of two, three layers of forward 10 and backward 20, gathers of 4, sums of 6:
// A1 A2 A3 0-4, 4-8, 8-12; F1 4-14, F2 14-24, F3 24-34; B3 34-54, R3 54-60, B2 54-74, R2 74-80,
// B1 74-94, R1 94-100. Without weights beside compute: all gathers first, 12 + 90 + 6.
TEST(PlayLayout, UpdatedWeightsAreGatheredInTheOrderOfTheForwardPass) {
  const auto step = [](bool beside) {
    TestLayout test{.degrees = {1, 1, 2, 1}, .states = R"({"type": "zero"})"};
    test.beside.weights = beside;
    LayoutPlan plan = plan_of(test, work_of_blocks(3, {10, 15, 5}));
    auto& shards = plan.groups[static_cast<std::size_t>(GroupKind::kShards)];
    shards.all_gather = std::make_shared<LinearCollective>(LinearCost{Duration(4), {}});
    shards.reduce_scatter = std::make_shared<LinearCollective>(LinearCost{Duration(6), {}});
    return step_in_every_way(plan);
  };
  EXPECT_EQ(step(true), 100);
  EXPECT_EQ(step(false), 12 + 90 + 6);
}

// Gradients that nothing computes beside: two layers of 30, then both sums of 6.
TEST(PlayLayout, SumsBehindTheBackwardPass) {
  TestLayout test{.degrees = {1, 1, 2, 1}, .costs = costs_of(Duration(6), 0)};
  test.beside.gradients = false;
  for (const LayoutTimes& times : in_every_way(plan_of(test, work_of_blocks(2, {10, 15, 5})))) {
    EXPECT_EQ(times.step.count(), 60 + 12);
    EXPECT_EQ(of(times.ranks[0], Spent::kGradients), 12);
  }
}

/// Rank 1 asks for a micro-batch that rank 0 never sends, as it makes backward passes first.
class Crossed final : public PipelineOrder {
 public:
  std::int64_t passes(const PipelineShape& shape, std::int32_t) const override {
    return 2 * std::int64_t{shape.micro_batches};
  }
  Pass pass(const PipelineShape&, std::int32_t rank, std::int64_t k) const override {
    const bool is_forward = rank == 0 ? k % 2 == 1 : k % 2 == 0;
    return {is_forward ? PassKind::kForward : PassKind::kBackward,
            static_cast<std::int32_t>(k / 2)};
  }
};

TEST(PlayLayout, AnOrderThatCannotRunNamesRanksPassesAndWhatTheyWaitFor) {
  LayoutPlan plan =
      plan_of({.degrees = {1, 1, 1, 2}, .micro_batches = 2}, work_of_blocks(2, {2, 3, 1}));
  plan.order = std::make_shared<Crossed>();
  std::string error;
  try {
    play_layout(plan);
  } catch (const ModelFailure& e) {
    error = e.what();
  }
  EXPECT_NE(error.find("rank 0 waits for gradients for chunk 0 of rank 0: has 0 of 1 for its pass "
                       "0, backward of micro-batch 0 in chunk 0"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("rank 1 waits for activations for chunk 0 of rank 1: has 0 of 1 for its "
                       "pass 0, forward of micro-batch 0 in chunk 0"),
            std::string::npos)
      << error;
}

/// Rank 1 leaves out the last micro-batch, which rank 0 sends it and whose gradients it awaits.
class Unheard final : public PipelineOrder {
 public:
  std::int64_t passes(const PipelineShape& shape, std::int32_t rank) const override {
    return 2 * std::int64_t{shape.micro_batches - rank};
  }
  Pass pass(const PipelineShape& shape, std::int32_t rank, std::int64_t k) const override {
    const std::int64_t forwards = shape.micro_batches - rank;
    return {k < forwards ? PassKind::kForward : PassKind::kBackward,
            static_cast<std::int32_t>(k % forwards)};
  }
};

/// The last micro-batch goes from rank 0 to rank 1, and no further.
class Unreceived final : public PipelineOrder {
 public:
  std::int64_t passes(const PipelineShape& shape, std::int32_t rank) const override {
    return 2 * std::int64_t{shape.micro_batches} - (rank == 0 ? 1 : 2);
  }
  Pass pass(const PipelineShape& shape, std::int32_t rank, std::int64_t k) const override {
    const std::int64_t forwards = shape.micro_batches - rank;
    return k < forwards ? Pass{PassKind::kForward, static_cast<std::int32_t>(k)}
                        : Pass{PassKind::kBackward, static_cast<std::int32_t>(k - forwards)};
  }
};

const bool kRegistered[] = {
    PipelineOrders::instance().add("crossed", "two ranks wait for each other; of tests", {},
                                   [](const Config&) { return std::make_unique<Crossed>(); }),
    PipelineOrders::instance().add("unreceived", "a rank sends in vain; of tests", {},
                                   [](const Config&) { return std::make_unique<Unreceived>(); }),
    PipelineOrders::instance().add("unheard", "a rank leaves out a micro-batch; of tests", {},
                                   [](const Config&) { return std::make_unique<Unheard>(); })};

Outcome run(const char* order) {
  const TinyFolder folder;
  folder.write("x.json", fmt::format(R"({{
    "name": "x",
    "workload": {{"model": "mpt-125m", "device": "a100", "batch": 1, "sequence": 64,
                  "accumulate": 3}},
    "cluster": {{"nodes": 2,
                 "network": {{"type": "switch", "latency": "5 us", "bandwidth": "25 GB/s"}}}},
    "strategy": {{"layout": {{"pipeline": 2}}, "pipeline_order": "{}"}}}})",
                                     order));
  return steptime({"run", folder.path("x.json")});
}

TEST(PlayLayout, AnOrderThatCannotRunIsAnExitOfThree) {
  const Outcome crossed = run("crossed");
  EXPECT_EQ(crossed.exit, 3);
  EXPECT_EQ(crossed.out, "");
  for (const char* part :
       {"rank 0 waits for gradients for chunk 0 of rank 0: has 0 of 1 for its pass 0, backward of "
        "micro-batch 0 in chunk 0",
        "rank 1 waits for activations for chunk 0 of rank 1: has 0 of 1 for its pass 0, forward of "
        "micro-batch 0 in chunk 0"})
    EXPECT_NE(crossed.err.find(part), std::string::npos) << crossed.err;

  const Outcome unheard = run("unheard");
  EXPECT_EQ(unheard.exit, 3);
  for (const char* part :
       {"rank 0 waits for gradients for chunk 0 of rank 0: has 2 of 3 for its pass 5, backward of "
        "micro-batch 2 in chunk 0",
        "rank 1 waits for first and last rank: call 1 lacks members 0"})
    EXPECT_NE(unheard.err.find(part), std::string::npos) << unheard.err;

  const Outcome unreceived = run("unreceived");
  EXPECT_EQ(unreceived.exit, 3);
  EXPECT_NE(unreceived.err.find("activations for chunk 0 of rank 1: 3 were sent, and 2 received "
                                "when the step was over"),
            std::string::npos)
      << unreceived.err;
}

// 60 micro-batches of 3 x 10^16 ps on two places are 1.8 x 10^18, more than what is counted without
// the whole step, whose clock may be beyond its range.
TEST(PlayLayout, OfAStepOfManyDaysNothingIsLeftOut) {
  constexpr std::int64_t kHours = 10'000'000'000'000'000;
  const TestLayout two{.degrees = {1, 1, 1, 2}, .micro_batches = 60};
  const LayoutTimes times = play_layout(plan_of(two, work_of_blocks(2, {kHours, kHours, kHours})));
  EXPECT_EQ(times.step.count(), 61 * 3 * kHours);
  EXPECT_EQ(times.left_out, 0);
}

}  // namespace
}  // namespace steptime
