#include "calibration/mpi/real_collectives.h"

#include "sim/core/error.h"
#include "sim/events/engine.h"
#include "sim/mxnet/mpi_world.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include <fmt/format.h>

namespace steptime {

MpiCollectives::MpiCollectives(const MpiProcesses& world, const std::vector<std::int64_t>& bytes,
                               std::int64_t communicators)
    : world_(world), communicators_(static_cast<std::size_t>(communicators + 1), MPI_COMM_NULL) {
  for (const std::int64_t size : bytes) {
    own_.emplace_back((static_cast<std::size_t>(size) + 3) / 4,
                      static_cast<float>(world.rank() + 1));
    sums_.emplace_back(own_.back().size());
  }
  for (MPI_Comm& communicator : communicators_)
    MPI_Comm_dup(world.data(), &communicator);
}

MpiCollectives::~MpiCollectives() {
  for (MPI_Comm& communicator : communicators_)
    MPI_Comm_free(&communicator);
}

void MpiCollectives::start(std::int32_t key, Callback done) {
  InFlight& begun = in_flight_.emplace_back(InFlight{key, done});
  if (key == MpiWorld::kBarrier) {
    MPI_Ibarrier(communicators_.back(), &begun.request);
    return;
  }
  const auto k = static_cast<std::size_t>(key);
  MPI_Iallreduce(own_[k].data(), sums_[k].data(), static_cast<int>(own_[k].size()), MPI_FLOAT,
                 MPI_SUM, communicators_[k % (communicators_.size() - 1)], &begun.request);
}

void MpiCollectives::check_sum(std::int32_t key) const {
  if (key == MpiWorld::kBarrier) return;
  const auto n = static_cast<float>(world_.ranks());
  const std::vector<float>& sums = sums_[static_cast<std::size_t>(key)];
  STEPTIME_CHECK(sums.empty() || (sums.front() == n * (n + 1) / 2 && sums.back() == sums.front()),
                 fmt::format("the sum of key {} is wrong", key));
}

void MpiCollectives::run(Engine& clock) {
  constexpr std::chrono::microseconds kNap{50};  // as MpiProcesses waits
  world_.barrier();
  const auto start = Clock::now();
  for (;;) {
    const Time now(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start));
    // What ends may let something else start, which then stands at the end of the list.
    for (std::size_t i = 0; i < in_flight_.size();) {
      int done = 0;
      MPI_Test(&in_flight_[i].request, &done, MPI_STATUS_IGNORE);
      if (done == 0) {
        ++i;
        continue;
      }
      check_sum(in_flight_[i].key);
      clock.at(now, Phase::kComplete, [callback = in_flight_[i].done] { callback(); });
      in_flight_.erase(in_flight_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    std::optional<Moment> next = clock.next();
    for (; next && next->time <= now; next = clock.next())
      clock.step();
    if (!next && in_flight_.empty()) return;
    const auto nap = Clock::now() + kNap;
    const auto due =
        next ? start + std::chrono::ceil<Clock::duration>(since_start(next->time)) : nap;
    std::this_thread::sleep_until(in_flight_.empty() ? due : std::min(due, nap));
  }
}

}  // namespace steptime
