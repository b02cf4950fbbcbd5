// Gossip averaging, a strategy that is not shipped: behind each step a worker averages its
// parameters with those of a random neighbour on a ring (Lian et al., 1705.09056).
#pragma once
#include "sim/core/random.h"
#include "sim/runtime/waits.h"
#include "sim/runtime/world.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace steptime {

struct Gossip {
  Gossip(World& w, int workers, Duration computes, Duration averages)
      : world(w), compute(computes), average(averages) {
    for (int i = 0; i < workers; ++i)
      free.emplace_back(w, Name{"parameters of worker", i}, 1);
  }
  /// Which of its two neighbours on the ring it meets.
  std::size_t neighbour(std::size_t me, std::uint32_t step) const {
    const RandomStream random(1, Purpose::kPullOrder);
    const bool left = random.uniform(static_cast<std::uint32_t>(me), step, 0) < 0.5;
    return (me + (left ? free.size() - 1 : 1)) % free.size();
  }
  Task worker(std::size_t me, std::uint32_t steps) {
    for (std::uint32_t step = 0; step < steps; ++step) {
      co_await world.pause(compute, {});
      const std::size_t other = neighbour(me, step);
      co_await free[std::min(me, other)].acquire();  // both, in one order: nobody waits in a circle
      co_await free[std::max(me, other)].acquire();
      co_await world.pause(average, {});
      free[me].release();
      free[other].release();
      ++meetings;
    }
  }
  World& world;
  Duration compute;
  Duration average;
  std::deque<Pool> free;
  int meetings = 0;
};

}  // namespace steptime
