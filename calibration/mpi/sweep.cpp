// A sweep whose ranks share the points: each takes the next ones from a counter in rank 0's memory
// and writes what it finishes to a file of its own; rank 0 joins these at the end.
#include "calibration/mpi/programs.h"
#include "sim/command/sweep_command.h"
#include "sim/config/error_line.h"
#include "sim/config/json.h"
#include "sim/core/error.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <thread>

namespace steptime {
namespace {

/// Numbers that each rank can take from.
class SharedCounter {
 public:
  explicit SharedCounter(const MpiProcesses& world) : world_(world) {
    const MPI_Aint size = world.is_first() ? sizeof(std::int64_t) : 0;
    MPI_Win_allocate(size, sizeof(std::int64_t), MPI_INFO_NULL, world.control(), &memory_,
                     &window_);
    if (world.is_first()) *memory_ = 0;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    world.barrier();
    // Where the network cannot do it alone, rank 0 answers only while it is inside of MPI.
    if (world.is_first()) {
      answering_ = std::thread([this] {
        while (!ends_) {
          int is_there = 0;
          MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world_.control(), &is_there, MPI_STATUS_IGNORE);
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      });
    }
  }
  ~SharedCounter() {
    world_.barrier();
    ends_ = true;
    if (answering_.joinable()) answering_.join();
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;

  std::int64_t take(std::int64_t count) {
    std::int64_t first = 0;
    MPI_Fetch_and_op(&count, &first, MPI_INT64_T, 0, 0, MPI_SUM, window_);
    MPI_Win_flush(0, window_);
    return first;
  }

 private:
  const MpiProcesses& world_;
  std::int64_t* memory_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
  std::atomic<bool> ends_{false};
  std::thread answering_;
};

}  // namespace

Exit sweep(const MpiProcesses& world, std::span<const std::string> args, const Terminal& terminal) {
  const Verb verb{"sweep", "CONFIG", "simulates every point of the config's \"sweep\"",
                  "",      "",       nullptr};
  const auto request = parse_sweep(verb, args, terminal, process_environment());
  if (!request) return Exit::kOk;
  if (request->folder.empty())
    throw InputError("sweep: several ranks share the points in a folder; expected -o");
  SharedCounter counter(world);
  const SweepCrew crew{
      .member = world.rank(),
      .members = world.ranks(),
      .take = [&](std::int64_t count) { return counter.take(count); },
      .first_ones =
          [&](const std::string& text) {
            std::string shared = text;
            world.share(shared);
            return shared;
          },
      .sum =
          [&](std::int64_t value) {
            return static_cast<std::int64_t>(world.sum(static_cast<double>(value)));
          }};
  try {
    return run_sweep_command(*request, terminal, crew);
  } catch (const InputError& e) {
    // What one rank cannot write the others need not wait for; what all say, rank 0 says first.
    if (!world.is_first()) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::cerr << "steptime: " << error_line(e.what()) << "\n" << std::flush;
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(Exit::kBadInput));
    throw;
  }
}

}  // namespace steptime
