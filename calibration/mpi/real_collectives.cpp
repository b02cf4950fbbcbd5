#include "calibration/mpi/real_collectives.h"

#include "sim/core/error.h"
#include "sim/events/engine.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include <fmt/format.h>

namespace steptime {

namespace {

std::size_t values_in(std::int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + 3) / 4;
}

}  // namespace

MpiCollectives::MpiCollectives(const MpiProcesses& world, std::int64_t most,
                               std::int64_t communicators)
    : world_(world),
      own_(values_in(most), static_cast<float>(world.rank() + 1)),
      sums_(static_cast<std::size_t>(communicators)),
      communicators_(static_cast<std::size_t>(communicators + 1), MPI_COMM_NULL) {
  for (MPI_Comm& communicator : communicators_)
    MPI_Comm_dup(world.data(), &communicator);
}

MpiCollectives::~MpiCollectives() {
  for (MPI_Comm& communicator : communicators_)
    MPI_Comm_free(&communicator);
}

std::unique_ptr<Medium> MpiCollectives::medium(Engine& /*clock*/, std::int32_t communicator) {
  return std::make_unique<OnOne>(*this, communicator);
}

void MpiCollectives::start(std::int32_t communicator, Bytes bytes, Callback done) {
  InFlight& begun = in_flight_.emplace_back(InFlight{communicator, values_in(bytes.count), done});
  const auto c = static_cast<std::size_t>(communicator);
  if (c == sums_.size()) {
    MPI_Ibarrier(communicators_.back(), &begun.request);
    return;
  }
  if (sums_[c].size() < begun.values) sums_[c].resize(begun.values);
  MPI_Iallreduce(own_.data(), sums_[c].data(), static_cast<int>(begun.values), MPI_FLOAT, MPI_SUM,
                 communicators_[c], &begun.request);
}

void MpiCollectives::check_sum(const InFlight& ended) const {
  const auto c = static_cast<std::size_t>(ended.communicator);
  if (c == sums_.size() || ended.values == 0) return;
  const auto n = static_cast<float>(world_.ranks());
  const float sum = n * (n + 1) / 2;
  STEPTIME_CHECK(sums_[c].front() == sum && sums_[c][ended.values - 1] == sum,
                 fmt::format("a sum on communicator {} is wrong", ended.communicator));
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
      check_sum(in_flight_[i]);
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
