#include "tests/sim/training/own/gossip.h"

#include "tests/support/wires.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

constexpr Endpoint kRing = 8;
constexpr std::int64_t kSize = 2'000'000;  // bytes

std::int64_t ms(Time time) {
  return since_start(time) / milliseconds(1);
}

/// Each worker has a link of 1 ms and 1 GB/s to each of its neighbours: parameters take 3 ms.
Wires ring(Endpoint workers) {
  Wires wires(workers, std::vector<Channel>(2 * static_cast<std::size_t>(workers),
                                            {Bandwidth{1e9}, milliseconds(1)}));
  for (Endpoint i = 0; i < workers; ++i) {
    const Endpoint right = (i + 1) % workers;
    wires.set(i, right, {static_cast<ChannelId>(2 * i)});
    wires.set(right, i, {static_cast<ChannelId>(2 * i + 1)});
  }
  return wires;
}

void play(World& world, Gossip& gossip, std::size_t workers, std::uint32_t steps) {
  for (std::size_t me = 0; me < workers; ++me)
    world.spawn({"worker", static_cast<std::int64_t>(me)}, gossip.worker(me, steps));
  world.run();
  world.expect_over();
}

TEST(Gossip, TwoWorkersMeetInTurn) {
  // Worker 0 computes from 0 to 10 and meets worker 1 until 13; that one has computed since 10,
  // too, and meets worker 0 until 16. Worker 0 computes until 23, when nobody meets any more: each
  // step takes it 13 ms, and worker 1 comes 3 ms behind.
  const Wires wires = ring(2);
  World world;
  Gossip gossip(world, world.connect(wires, {}), milliseconds(10), kSize, {0, 8});
  play(world, gossip, 2, 5);
  EXPECT_EQ(ms(world.now()), 5 * (10 + 3) + 3);
  EXPECT_EQ(gossip.values(), (std::vector<double>{4, 4}));
}

TEST(Gossip, ANeighbourIsWaitedForWhileItMeetsAnother) {
  // Of three workers each has both others as neighbours: all meetings of a step are one after
  // another. Nobody has computed the next step before the last one of them, at 10 + 3 * 3, is over.
  const Wires wires = ring(3);
  World world;
  Gossip gossip(world, world.connect(wires, {}), milliseconds(10), kSize, {0, 1, 2});
  play(world, gossip, 3, 1);
  EXPECT_EQ(ms(world.now()), 10 + 3 * 3);
}

TEST(Gossip, KeepsTheMeanAndBringsWorkersTogether) {
  constexpr std::uint32_t kSteps = 30;
  const Wires wires = ring(kRing);
  std::vector<double> values(kRing);
  std::iota(values.begin(), values.end(), 0.0);
  World world;
  Gossip gossip(world, world.connect(wires, {}), milliseconds(10), kSize, values);
  play(world, gossip, kRing, kSteps);
  int left = 0;
  for (std::size_t me = 0; me < kRing; ++me) {
    for (std::uint32_t step = 0; step < kSteps; ++step)
      left += gossip.neighbour(me, step) == (me + kRing - 1) % kRing ? 1 : 0;
  }
  // Of 240 meetings half are with the left neighbour, give or take five standard deviations of 8.
  EXPECT_NEAR(left, 120, 40);
  // An average of two leaves the sum. A meeting of a random worker takes (1 - cos 45 deg) / 8 of
  // the square of the ring's slowest mode, so that 30 steps leave 0.74^30 of all squares, 42 at
  // first: sums of 0.006, and values less than 0.11 apart. We give it room, as draws are few.
  const auto [least, most] = std::ranges::minmax(gossip.values());
  EXPECT_NEAR(std::accumulate(gossip.values().begin(), gossip.values().end(), 0.0), 28, 1e-12);
  EXPECT_LT(most - least, 0.3);
  // At least what a worker does by itself; at most that and all meetings one after another.
  EXPECT_GE(ms(world.now()), kSteps * (10 + 3));
  EXPECT_LE(ms(world.now()), kSteps * 10 + kRing * kSteps * 3);
}

}  // namespace
}  // namespace steptime
