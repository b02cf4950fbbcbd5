#include "sim/layouts/roads.h"

#include "sim/layouts/play.h"
#include "tests/support/layouts.h"

#include <memory>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// 1 B/ps between nodes, 10 B/ps inside, no latency.
std::shared_ptr<const Cluster> nodes(std::int64_t count, std::int64_t gpus,
                                     std::int64_t adapters = 1) {
  Cluster cluster;
  cluster.nodes = count;
  cluster.gpus_per_node = gpus;
  cluster.network = {{}, {1e12}};
  cluster.intra_node = {{}, {10e12}};
  cluster.gpus.emplace().nics = adapters;
  return std::make_shared<const Cluster>(std::move(cluster));
}

// 5 ps and 2 ps a byte, from when it starts: 5 + 2 x 10 = 25.
TEST(LayoutRoads, WithoutAClusterAnExchangeTakesItsClosedForm) {
  const LayoutPlan plan = plan_of({.degrees = {2, 1, 1, 1}, .costs = costs_of(Duration(5), 2e-12)},
                                  work_of_blocks(1, {1, 1, 1}));
  World world;
  const auto roads = plan.roads->make(world, plan);
  EXPECT_TRUE(roads->are_alone(0, GroupKind::kTensor));
  const Seat seat = roads->seat(0, GroupKind::kTensor);
  Time end{};
  const auto program = [&]() -> Task {
    co_await seat.group->call(seat.member, {10});
    end = world.now();
  };
  world.spawn({"rank", 0}, program());
  world.run();
  EXPECT_EQ(since_start(end).count(), 25);
}

TEST(LayoutRoads, ARankStandsForItsPlaceOrForItself) {
  TestLayout test{.degrees = {2, 1, 2, 2}, .cluster = nodes(2, 4)};
  World closed;
  const LayoutPlan places = plan_of(test, work_of_blocks(2, {1, 1, 1}));
  EXPECT_EQ(places.roads->make(closed, places)->programs(), (std::vector<std::int32_t>{0, 4}));
  test.plays_messages = true;
  const LayoutPlan plan = plan_of(test, work_of_blocks(2, {1, 1, 1}));
  World messages;
  const auto roads = plan.roads->make(messages, plan);
  EXPECT_EQ(roads->programs().size(), 8u);
  EXPECT_EQ(roads->seat(5, GroupKind::kTensor).member, 1u);
  EXPECT_EQ(roads->seat(5, GroupKind::kTensor).group, roads->seat(4, GroupKind::kTensor).group);
  EXPECT_NE(roads->seat(5, GroupKind::kTensor).group, roads->seat(6, GroupKind::kTensor).group);
}

/// Two places side by side in each of two nodes, with a replica in each node: gradients of a place,
/// `bytes` of them, cross the network when its passes are over.
TestLayout replicas_of_two_places(std::int64_t adapters) {
  TestLayout test{.degrees = {1, 1, 2, 2},
                  .order_of_ranks = {Dimension::kTensor, Dimension::kContext, Dimension::kPipeline,
                                     Dimension::kData},
                  .schedule = R"({"type": "sync-easgd"})",
                  .cluster = nodes(2, 2, adapters)};
  test.beside.gradients = false;
  return test;
}

// One micro-batch: F 10 and F 10, B 20 on the second place until 40, B 20 on the first until 60. A
// ring of two ranks takes 100 B of gradients 100 ps. Both through one adapter: the second place
// works alone from 40 to 60, has 80 left, and gets half from then on, until 220; by then the first
// has 20 left, which ends at 240. With an adapter each: 40 + 100 and 60 + 100.
TEST(LayoutRoads, GroupsThatShareAnAdapterTakeHalfOfItEach) {
  const auto step = [](std::int64_t adapters, bool plays_messages) {
    TestLayout test = replicas_of_two_places(adapters);
    test.plays_messages = plays_messages;
    return play_layout(plan_of(test, work_of_blocks(2, {10, 10, 10}, 100))).step.count();
  };
  EXPECT_EQ(step(1, false), 240);
  EXPECT_EQ(step(1, true), 240);
  EXPECT_EQ(step(2, false), 160);
  EXPECT_EQ(step(2, true), 160);
}

// ZeRO-3 of a block of 100 B of weights and as many of gradients, on two nodes: half of each goes
// over the network at 1 B/ps for 50 ps. F 10 behind the weights, which a backward pass gathers
// anew, B 20, and then the gradients: 50 + 10 + 50 + 20 + 50 = 180. Software that reaches a quarter
// of the adapter takes 200 where that takes 50. Inside a node, at 10 B/ps, there is no adapter: 5
// for 50.
TEST(LayoutRoads, PartsTravelWithTheShareOfTheAdaptersThatSoftwareReaches) {
  const auto step = [](double share, std::int64_t count, bool plays_messages) {
    TestLayout test{
        .degrees = {1, 1, 2, 1},
        .states = fmt::format(R"({{"type": "zero", "stage": 3, "share_of_adapters": {}}})", share),
        .cluster = nodes(count, 2 / count)};
    test.beside.gradients = test.beside.weights = false;
    test.plays_messages = plays_messages;
    return play_layout(plan_of(test, work_of_blocks(1, {10, 10, 10}, 100))).step.count();
  };
  for (const bool plays_messages : {false, true}) {
    EXPECT_EQ(step(1, 2, plays_messages), 180);
    EXPECT_EQ(step(.25, 2, plays_messages), 3 * 200 + 30);
    EXPECT_EQ(step(.25, 1, plays_messages), 3 * 5 + 30);
  }
}

// What other groups send leaves the rest of the adapter to them: two tensor groups of a rank on
// each node.
TEST(LayoutRoads, OnlyWhatSharesStatesTravelsWithThatShare) {
  TestLayout test{.degrees = {2, 1, 1, 1},
                  .states = R"({"type": "zero", "stage": 3, "share_of_adapters": 0.25})",
                  .cluster = nodes(2, 1),
                  .plays_messages = true};
  ModelWork work = work_of_blocks(1, {10, 10, 10}, 100);
  work.exchanged.hidden = {40};
  // Four all-reduces of 40 B, each of two steps of 20 B.
  EXPECT_EQ(play_layout(plan_of(test, std::move(work))).step.count(), 30 + 4 * 40);
}

// The adapter works 200 of the 240 ps in each direction.
TEST(LayoutRoads, TellsHowBusyItsLinksAre) {
  const LayoutTimes times =
      play_layout(plan_of(replicas_of_two_places(1), work_of_blocks(2, {10, 10, 10}, 100)));
  EXPECT_DOUBLE_EQ(times.busiest, 200. / 240);
}

// Four ranks in a node, tensor groups of two: a ring all-reduce of two ranks is two messages in
// each of two steps; four of them a layer and micro-batch, in each of two groups; three
// micro-batches.
TEST(LayoutRoads, MessagesAreThoseOfEveryGroup) {
  ModelWork work = work_of_blocks(2, {8, 8, 4});
  work.exchanged.hidden = {40};
  const LayoutTimes times = play_layout(plan_of(
      {.degrees = {2, 1, 2, 1}, .micro_batches = 3, .cluster = nodes(1, 4), .plays_messages = true},
      std::move(work)));
  const std::int64_t gradients = 2 * 2 * 2 * 2;  // a bucket a layer, in each of two groups
  EXPECT_EQ(times.messages, 2 * 3 * 4 * (2 * 2) * 2 + gradients);
}

}  // namespace
}  // namespace steptime
