// Asynchronous servers with a bound on staleness, a strategy that is not shipped: no worker begins
// a step that is more than so many ahead of the slowest (Ho et al., NIPS 2013, stale synchronous
// parallel).
#pragma once
#include "sim/runtime/waits.h"
#include "sim/runtime/world.h"
#include "sim/servers/servers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace steptime {

class BoundedStaleness {
 public:
  /// `compute`: how long a step takes each worker, which is the client of its number. Servers hold
  /// so many buckets, and update them with each push: asynchronous_servers().
  BoundedStaleness(World& world, Servers& servers, std::int32_t buckets,
                   std::vector<Duration> compute, std::int64_t bound)
      : world_(world),
        servers_(servers),
        buckets_(buckets),
        compute_(std::move(compute)),
        bound_(bound),
        done_(compute_.size()),
        slowest_(world, {"steps of the slowest worker"}) {}
  /// By how many steps one has been ahead of the slowest when it began another.
  std::int64_t most_ahead() const { return most_ahead_; }

  Task worker(std::size_t me, std::int64_t steps) {
    Gather values(world_, {"values of worker", static_cast<std::int64_t>(me)});
    OnEnd comes([&values](std::int32_t, When end) { values.came(end); });
    for (std::int64_t step = 0; step < steps; ++step) {
      co_await slowest_.at_least(step - bound_);
      most_ahead_ = std::max(most_ahead_, step - slowest_.value());
      co_await world_.pause(compute_[me], {});
      values.expect(buckets_);
      for (std::int32_t bucket = 0; bucket < buckets_; ++bucket)
        servers_.pushpull(static_cast<std::int32_t>(me), bucket, comes);
      co_await values.all();
      ++done_[me];
      slowest_.add(*std::ranges::min_element(done_) - slowest_.value());
    }
  }

 private:
  World& world_;
  Servers& servers_;
  std::int32_t buckets_;
  std::vector<Duration> compute_;
  std::int64_t bound_;
  std::vector<std::int64_t> done_;  ///< steps, by worker
  Counter slowest_;                 ///< the least of these
  std::int64_t most_ahead_ = 0;
};

}  // namespace steptime
