// Every point of a sweep as a row, on as many threads as asked for. Rows come out in the order of
// the points, whatever the number of threads.
#pragma once
#include "sim/experiment/result.h"
#include "sim/sweeps/sweep.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// One point's outcome: a result, or the message of what failed; a failure of the modelled system
/// may take several lines.
struct SweepRow {
  std::int64_t point = 0;
  std::optional<Result> result;
  std::string error;
};

struct SweepOptions {
  int threads = 1;
  bool full = false;  ///< rows carry the details
  /// The next points to run, in ascending order, at most so many; none: that was all. Left out: all
  /// points. Called from one thread at a time.
  std::function<std::vector<std::int64_t>(std::size_t most)> points;
  /// Called with a point's JSONL line as soon as it is over, in any order, from any thread. What it
  /// throws ends the sweep, as what on_row throws does.
  std::function<void(std::string_view line)> on_finished;
  /// Called in the order of the points, from one thread at a time, with a point's JSONL line.
  std::function<void(const SweepRow&, std::string_view line)> on_row;
  /// Called now and then, never while on_row is, with the number of points that were handed to it
  /// and with the share of the whole that is done, in points.
  std::function<void(std::int64_t rows, double points)> on_progress;
  /// Whether to end the sweep early; what is finished was handed to on_finished, and up to the
  /// first point that is not to on_row. Called from any thread.
  std::function<bool()> stop;
};

/// Returns the number of points that failed.
std::int64_t run_sweep(const Sweep& sweep, const SweepOptions& options);

}  // namespace steptime
