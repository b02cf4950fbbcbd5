#include "sim/layouts/plan.h"

#include "sim/layouts/play.h"
#include "tests/support/layouts.h"

#include <memory>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// Two blocks of forward 8 and backward 8 + 4; hidden values take 40 B.
ModelWork two_blocks() {
  ModelWork work = work_of_blocks(2, {8, 8, 4});
  work.exchanged = {.hidden = {40}, .queries = {20}, .keys_values = {16}};
  return work;
}

std::int64_t bytes(const LayoutTimes& times, GroupKind kind) {
  return times.ranks[0].bytes[static_cast<std::size_t>(kind)];
}
std::int64_t spent(const LayoutTimes& times, Spent what) {
  return times.ranks[0].spent[static_cast<std::size_t>(what)].count();
}

// Two all-reduces of 2 T h in each pass of a layer. An exchange takes 3 ps: two layers of 8 + 12
// and 4 exchanges of 3.
TEST(PlanStages, TensorRanksAllReduceTwiceInEachPass) {
  const LayoutTimes times = play_layout(
      plan_of({.degrees = {2, 1, 1, 1}, .costs = costs_of(Duration(3), 0)}, two_blocks()));
  EXPECT_EQ(bytes(times, GroupKind::kTensor), 2 * 4 * 40);
  EXPECT_EQ(times.ranks[0].exchanges, 2 * 4);
  EXPECT_EQ(times.step.count(), 2 * (8 + 12 + 4 * 3));
  EXPECT_EQ(spent(times, Spent::kTensor), 2 * 4 * 3);
}

// With sequence parallelism each is a reduce-scatter and an all-gather, and inputs of the two
// shared products are gathered once more in the backward pass, beside 2 ps of weights' gradients
// each.
TEST(PlanStages, SequenceParallelismGathersInputsAgainBesideWeights) {
  const LayoutTimes times = play_layout(plan_of(
      {.degrees = {2, 1, 1, 1}, .sequence_parallel = true, .costs = costs_of(Duration(3), 0)},
      two_blocks()));
  EXPECT_EQ(bytes(times, GroupKind::kTensor), 2 * (4 * 2 + 2) * 40);
  EXPECT_EQ(spent(times, Spent::kTensor), 2 * (4 * 2 * 3 + 2 * (3 - 2)));
  EXPECT_EQ(times.step.count(), 2 * (8 + 12 + 4 * 2 * 3 + 2));
}

// Values that are gathered in half of their bytes: of each layer's 4 x 2 + 2 exchanges six are
// gathers.
TEST(PlanStages, GathersMayBeOfNarrowerValues) {
  ModelWork work = two_blocks();
  work.exchanged.gathered = Bytes{20};
  const LayoutTimes times =
      play_layout(plan_of({.degrees = {2, 1, 1, 1}, .sequence_parallel = true}, std::move(work)));
  EXPECT_EQ(bytes(times, GroupKind::kTensor), 2 * (4 * 40 + 6 * 20));
}

// At the end of each of two passes all ranks of a place have agreed on their maxima, which takes
// 5 ps. A replica alone, of one rank, has nobody to ask.
TEST(PlanStages, PassesEndWithMaximaOfAllRanks) {
  ModelWork work = two_blocks();
  work.exchanged.maxima = {3};
  TestLayout test{.degrees = {1, 1, 2, 1}, .micro_batches = 2};
  test.maxima = std::make_shared<LinearCollective>(LinearCost{Duration(5), {}});
  const LayoutPlan plan = plan_of(test, std::move(work));
  EXPECT_EQ(plan.stages[0].maxima.count, 2 * 3);
  for (const LayoutTimes& times : in_every_way(plan)) {
    EXPECT_EQ(spent(times, Spent::kScales), 2 * 2 * 5);
    EXPECT_EQ(times.step.count(), 2 * (2 * (8 + 12) + 2 * 5));
    EXPECT_EQ(replica_time(plan, StepPasses(plan), times).count(), 2 * 2 * (8 + 12));
  }
}

/// Four context ranks in each of so many replicas, a GPU a node, 1 B/ps between them.
TestLayout contexts_of_four(std::int32_t replicas, std::int64_t shard_group) {
  Cluster cluster;
  cluster.nodes = 4 * replicas;
  cluster.network = {{}, {1e12}};
  TestLayout test{.degrees = {1, 4, replicas, 1},
                  .states = fmt::format(R"({{"type": "fsdp", "shard_group": {}}})", shard_group),
                  .cluster = std::make_shared<const Cluster>(std::move(cluster))};
  test.beside.gradients = test.beside.weights = false;
  return test;
}

// Shard groups of two ranks: of 24 B of weights 12 go to the other one, twice, of 24 B of gradients
// 12, whose halves of 12 B two groups sum up, as rings in 2 x 6 ps, and four groups in 6 x 3 ps.
// Beside F 8 and B 12 that is 2 x 12 + 12 and 12 or 18. Groups of three do not divide a replica's
// four ranks: alone it has groups of two.
TEST(PlanOfReplica, HasShardGroupsAndReplicasOfItsOwn) {
  for (const bool plays_messages : {false, true}) {
    TestLayout test = contexts_of_four(2, 2);
    test.plays_messages = plays_messages;
    const LayoutPlan plan = plan_of(test, work_of_blocks(1, {8, 8, 4}, 24));
    const StepPasses passes(plan);
    const LayoutTimes times = play_layout(plan, passes, nullptr);
    EXPECT_EQ(times.step.count(), 20 + 36 + 18);
    EXPECT_EQ(replica_time(plan, passes, times).count(), 20 + 36 + 12);
    TestLayout threes = contexts_of_four(3, 3);
    threes.plays_messages = plays_messages;
    const LayoutPlan by_threes = plan_of(threes, work_of_blocks(1, {8, 8, 4}, 24));
    EXPECT_EQ(plan_of_replica(by_threes).shard_group(), 2);
    EXPECT_EQ(play_layout(plan_of_replica(by_threes)).step.count(), 20 + 36 + 12);
  }
}

// Shard groups of more ranks than a replica has are all of its ranks: three quarters of 24 B go
// around, 18 ps each time, and nothing is left to sum up.
TEST(PlanOfReplica, SharesItsStatesAmongItsOwnRanks) {
  const LayoutPlan alone =
      plan_of_replica(plan_of(contexts_of_four(2, 8), work_of_blocks(1, {8, 8, 4}, 24)));
  EXPECT_EQ(alone.shard_group(), 4);
  EXPECT_EQ(play_layout(alone).step.count(), 20 + 3 * 18);
}

// Full recomputation adds a forward pass with its exchanges.
TEST(PlanStages, FullRecomputationExchangesAgain) {
  const LayoutTimes times = play_layout(plan_of({.degrees = {2, 1, 1, 1},
                                                 .recompute = R"({"type": "full"})",
                                                 .costs = costs_of(Duration(3), 0)},
                                                two_blocks()));
  EXPECT_EQ(bytes(times, GroupKind::kTensor), 2 * 6 * 40);
  EXPECT_EQ(times.step.count(), 2 * (2 * 8 + 12 + 6 * 3));
}

// Beside compute, half a layer's product of 4 ps on two ranks is cut in two: an exchange of 3 goes
// on beside 2, and 1 of it is seen; backward half of 8 ps: 4 on either side, nothing either.
TEST(PlanStages, TensorExchangesBesideTheirProducts) {
  TestLayout test{.degrees = {2, 1, 1, 1}, .costs = costs_of(Duration(3), 0)};
  test.beside.tensor = true;
  ModelWork work = work_of_blocks(1, {8, 16, 4});
  work.exchanged.hidden = {40};
  const LayoutTimes times = play_layout(plan_of(test, std::move(work)));
  EXPECT_EQ(spent(times, Spent::kTensor), 2 * (3 - 2));
  EXPECT_EQ(times.step.count(), 8 + 16 + 4 + 2);
}

// Sums of inputs' gradients beside weights' gradients of 4 ps: an all-reduce of 3 goes on beside
// the quarter of the weights whose product divides its outputs, 1 ps, and 2 of it are seen; so
// twice a layer, and both forward exchanges.
TEST(PlanStages, SumsOfInputsGradientsBesideTheirProductsWeights) {
  TestLayout test{.degrees = {2, 1, 1, 1}, .costs = costs_of(Duration(3), 0)};
  test.beside.input_gradients = true;
  const LayoutTimes times = play_layout(plan_of(test, two_blocks()));
  EXPECT_EQ(bytes(times, GroupKind::kTensor), 2 * 4 * 40);
  EXPECT_EQ(spent(times, Spent::kTensor), 2 * (2 * 3 + 2 * (3 - 1)));
  EXPECT_EQ(times.step.count(), 2 * (8 + 12 + 2 * 3 + 2 * 2));
  // In pieces with its product it is hidden there already.
  test.beside.tensor = true;
  TestLayout pieces{.degrees = {2, 1, 1, 1}, .costs = costs_of(Duration(3), 0)};
  pieces.beside.tensor = true;
  EXPECT_EQ(play_layout(plan_of(test, two_blocks())).step,
            play_layout(plan_of(pieces, two_blocks())).step);
}

// Where passes for weights come later, a stage's gradient goes on once it is summed up: nothing
// changes.
TEST(PlanStages, SumsOfInputsGradientsAreSeenWhereBackwardPassesAreSplit) {
  const auto step = [](bool beside) {
    TestLayout test{.degrees = {2, 1, 1, 2},
                    .order = R"({"type": "zb-h1"})",
                    .micro_batches = 4,
                    .costs = costs_of(Duration(3), 0)};
    test.beside.input_gradients = beside;
    return play_layout(plan_of(test, two_blocks())).step;
  };
  EXPECT_EQ(step(true), step(false));
}

// With sequence parallelism the input is gathered beside its gradient, 1 ps, and what is summed up
// beside the weights', as long; the other all-gather of a half is seen, forward both exchanges are.
TEST(PlanStages, SumsOfInputsGradientsBesideWeightsWithSequenceParallelism) {
  TestLayout test{
      .degrees = {2, 1, 1, 1}, .sequence_parallel = true, .costs = costs_of(Duration(3), 0)};
  test.beside.input_gradients = true;
  const LayoutTimes times = play_layout(plan_of(test, two_blocks()));
  EXPECT_EQ(bytes(times, GroupKind::kTensor), 2 * (4 * 2 + 2) * 40);
  EXPECT_EQ(spent(times, Spent::kTensor), 2 * (4 * 3 + 2 * (3 + 2 * (3 - 1))));
  EXPECT_EQ(times.step.count(), 2 * (8 + 12 + 4 * 3 + 2 * (3 + 2 * 2)));
}

// 2 T h / t a boundary, forward and back, and without sequence parallelism an all-gather of 2 T h
// among the tensor ranks of the receiver. Source: 2104.04473 section 4.1.
TEST(PlanStages, TensorRanksSendTheirPartToTheNextStage) {
  for (const bool sequence_parallel : {false, true}) {
    const LayoutTimes times = play_layout(plan_of(
        {.degrees = {2, 1, 1, 2}, .micro_batches = 3, .sequence_parallel = sequence_parallel},
        two_blocks()));
    EXPECT_EQ(bytes(times, GroupKind::kPipeline), 3 * 20);
    const std::int64_t of_passes = 3 * (sequence_parallel ? 4 * 2 + 2 : 4) * 40;
    EXPECT_EQ(bytes(times, GroupKind::kTensor), of_passes + (sequence_parallel ? 0 : 3 * 40));
  }
}

TEST(PlanStages, EmbeddingAndLossAreOnTheFirstAndTheLastStage) {
  ModelWork work = work_of_blocks(4, {8, 8, 4});
  work.layers.insert(work.layers.begin(),
                     {.name = "embedding", .tensors = {{"tokens", 7}}, .is_block = false});
  work.layers.push_back(
      {.name = "loss", .tensors = {{"norm", 3}}, .is_block = false, .is_loss = true});
  work.tied_params = 7;
  work.logits = {50};
  const LayoutPlan plan = plan_of({.degrees = {1, 1, 1, 2}, .micro_batches = 2}, std::move(work));
  EXPECT_EQ(plan.stages[0].params, 7 + 2);
  EXPECT_EQ(plan.stages[1].params, 2 + 3 + 7);  // a copy of the embedding makes the logits
  EXPECT_EQ(plan.tied.count, 7);
  EXPECT_EQ(plan.stages[0].logits.count, 0);
  EXPECT_EQ(plan.stages[1].logits.count, 50);
  const LayoutTimes times = play_layout(plan);
  for (const StageTimes& rank : times.ranks)
    EXPECT_EQ(rank.bytes[static_cast<std::size_t>(GroupKind::kEnds)], 7);
}

// The copy is a parameter of the last rank as all others: two replicas sum up 7 + 2 and 2 + 3 + 7,
// and both ends then 7.
TEST(PlanStages, ReplicasSumUpTheLastStagesCopyOfTheEmbedding) {
  ModelWork work = work_of_blocks(4, {8, 8, 4});
  work.layers.insert(work.layers.begin(),
                     {.name = "embedding", .tensors = {{"tokens", 7}}, .is_block = false});
  work.layers.push_back(
      {.name = "loss", .tensors = {{"norm", 3}}, .is_block = false, .is_loss = true});
  work.tied_params = 7;
  const LayoutTimes times = play_layout(plan_of({.degrees = {1, 1, 2, 2}}, std::move(work)));
  EXPECT_EQ(times.ranks[0].bytes[static_cast<std::size_t>(GroupKind::kShards)], 7 + 2);
  EXPECT_EQ(times.ranks[1].bytes[static_cast<std::size_t>(GroupKind::kShards)], 2 + 3 + 7);
  for (const StageTimes& rank : times.ranks)
    EXPECT_EQ(rank.bytes[static_cast<std::size_t>(GroupKind::kEnds)], 7);
}

// Buckets of a stage in the order of its backward pass; after ZeRO's rule, from so many parameters
// on the next one begins.
TEST(PlanStages, BucketsGoByTheScheduleOrByUnits) {
  const auto names = [](const LayoutPlan& plan) {
    std::string all;
    for (const GradientBucket& bucket : plan.stages[0].buckets)
      all += bucket.name + "; ";
    return all;
  };
  EXPECT_EQ(names(plan_of({.degrees = {1, 1, 2, 1}}, work_of_blocks(3, {1, 1, 1}))),
            "block 2; block 1; block 0; ");
  EXPECT_EQ(names(plan_of({.degrees = {1, 1, 2, 1}, .schedule = R"({"type": "sync-easgd"})"},
                          work_of_blocks(3, {1, 1, 1}))),
            "w to w; ");
  EXPECT_EQ(names(plan_of({.degrees = {1, 1, 2, 1}, .states = R"({"type": "fsdp", "units": 2})"},
                          work_of_blocks(3, {1, 1, 1}))),
            "block 2 to block 1; block 0; ");
  EXPECT_EQ(names(plan_of({}, work_of_blocks(3, {1, 1, 1}))), "");  // nobody shares the parameters
}

}  // namespace
}  // namespace steptime
