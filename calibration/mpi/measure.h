// What operations take on the ranks of this run, round by round.
#pragma once
#include "calibration/mpi/all_reduce.h"
#include "calibration/mpi/world.h"
#include "calibration/rounds.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace steptime {

/// Seconds from a barrier until `operation` is through on the slowest rank.
double timed(const MpiProcesses& world, const std::function<void()>& operation);

/// All-reduces one after the other, all sizes in each round. The first round, in which connections
/// are made, is not counted.
std::vector<SizeTimes> measure_all_reduce(const MpiProcesses& world, AllReduce& all_reduce,
                                          std::span<const std::int64_t> sizes, std::int64_t rounds,
                                          const OnProgress& on_progress = {});

/// Ping-pong, all-reduce, reduce-scatter, all-gather, broadcast, two and four all-reduces at once,
/// and the host's sum.
MeasuredRounds measure_operations(const MpiProcesses& world, std::span<const std::int64_t> sizes,
                                  const MeasureOptions& options, const OnProgress& on_progress);

}  // namespace steptime
