// Asynchronous workers with a bound on staleness, a strategy that is not shipped: none is more than
// so many steps ahead of the slowest (Ho et al., NIPS 2013, stale synchronous parallel).
#pragma once
#include "sim/runtime/waits.h"
#include "sim/runtime/world.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace steptime {

struct Bounded {
  Bounded(World& w, std::vector<Duration> of_steps, std::int64_t most)
      : world(w), lengths(std::move(of_steps)), bound(most), slowest(w, {"steps of the slowest"}) {
    done.resize(lengths.size());
  }
  Task worker(std::size_t me, std::int64_t steps) {
    for (std::int64_t step = 0; step < steps; ++step) {
      co_await slowest.at_least(step - bound);
      co_await world.pause(lengths[me], {});
      ++done[me];
      ahead = std::max(ahead, done[me] - *std::ranges::min_element(done));
      slowest.add(*std::ranges::min_element(done) - slowest.value());
    }
  }
  World& world;
  std::vector<Duration> lengths;
  std::int64_t bound;
  Counter slowest;
  std::vector<std::int64_t> done;
  std::int64_t ahead = 0;
};

}  // namespace steptime
