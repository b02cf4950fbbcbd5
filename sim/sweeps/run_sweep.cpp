#include "sim/sweeps/run_sweep.h"

#include "sim/config/error_line.h"
#include "sim/config/json_text.h"
#include "sim/core/error.h"
#include "sim/experiment/result_text.h"
#include "sim/sweeps/point_runner.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>

namespace steptime {
namespace {

struct Chunk {
  std::size_t points = 0;  ///< as many were to be run
  std::vector<SweepRow> rows;
  std::string lines;                   ///< one after the other
  std::vector<std::size_t> line_ends;  ///< in `lines`, by row
  std::atomic<bool> is_told = true;    ///< may be filled anew
};

/// What a thread has to itself. Memory that one thread gets and another one gives back would make
/// both wait for each other, so its chunks return to it.
class Worker {
 public:
  explicit Worker(const Sweep& sweep) : runner(sweep) {}
  Chunk& chunk() {
    auto found = std::find_if(chunks_.begin(), chunks_.end(), [](const auto& chunk) {
      return chunk->is_told.load(std::memory_order_acquire);
    });
    if (found == chunks_.end()) found = chunks_.insert(found, std::make_unique<Chunk>());
    Chunk& chunk = **found;
    chunk.rows.clear();
    chunk.lines.clear();
    chunk.line_ends.clear();
    chunk.is_told = false;
    return chunk;
  }
  PointRunner runner;

 private:
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

/// `details`: null for a row without them.
void append_line(std::string& text, const Sweep& sweep, const SweepRow& row,
                 const Details* details) {
  text += "{\"point\":";
  append_number(text, row.point);
  text += ",\"params\":{";
  sweep.append_params(text, row.point);
  text += "},";
  if (row.result)
    append_json(text, *row.result, details);
  else
    text += "\"error\":" + Json(row.error).dump();
  text += "}\n";
}

}  // namespace

std::int64_t run_sweep(const Sweep& sweep, const SweepOptions& options) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                                  static_cast<std::size_t>(options.threads));
  // Small enough to share the work and to report often, large enough to keep the parts warm.
  // Slow points are few, so that what is over is told at once.
  std::atomic<double> seconds_each = 1;
  const auto most = [&] {
    constexpr double kAtOnce = 0.02;  // s
    return static_cast<std::size_t>(std::clamp(kAtOnce / seconds_each, 1.0, 256.0));
  };
  tbb::enumerable_thread_specific<Worker> workers([&] { return Worker(sweep); });
  std::int64_t next = 0;
  const auto all_points = [&](std::size_t at_most) {
    // Smaller towards the end, where the last one to come would keep everybody waiting.
    const std::int64_t left = sweep.points() - next;
    const auto count =
        std::min(left, std::clamp<std::int64_t>(left / (std::int64_t{8} * options.threads), 1,
                                                static_cast<std::int64_t>(at_most)));
    std::vector<std::int64_t> points(static_cast<std::size_t>(count));
    std::iota(points.begin(), points.end(), std::exchange(next, next + count));
    return points;
  };
  std::int64_t done = 0;
  std::int64_t failed = 0;
  bool cut_short = false;  // rows behind a hole are dropped, so that what is kept is a prefix
  std::atomic<bool> broken{false};  // by an exception: the other threads need not go on
  const auto stopped = [&] { return broken || (options.stop && options.stop()); };
  std::mutex telling;                 // rows and progress
  std::atomic<double> under_way = 0;  // points, those that wait for their turn included
  const auto advance = [&](double& share, double to) {
    under_way += to - share;
    share = to;
  };
  const auto breaking = [&](auto do_it) {
    try {
      do_it();
    } catch (...) {
      broken = true;
      throw;
    }
  };

  const auto cut = [&](tbb::flow_control& control) -> std::vector<std::int64_t> {
    std::vector<std::int64_t> points;
    if (!stopped()) points = options.points ? options.points(most()) : all_points(most());
    if (points.empty()) control.stop();
    return points;
  };
  const auto run = [&](const std::vector<std::int64_t>& points) {
    Worker& worker = workers.local();
    Chunk& chunk = worker.chunk();
    chunk.points = points.size();
    const auto start = std::chrono::steady_clock::now();
    double share = 0;  // of the chunk's points, as far as others were told
    const OnProgress on_progress = [&](double now) {
      if (stopped()) throw Interrupted();
      advance(share, static_cast<double>(chunk.line_ends.size()) + now);
      const std::unique_lock lock(telling, std::try_to_lock);
      if (lock && options.on_progress)
        options.on_progress(done, static_cast<double>(done) + under_way);
    };
    for (const std::int64_t point : points) {
      if (stopped()) break;
      SweepRow& row = chunk.rows.emplace_back();
      row.point = point;
      std::vector<SentBucket> sent;
      std::vector<SentBucket>* const buckets = options.full ? &sent : nullptr;
      try {
        row.result = worker.runner.run(point, buckets, on_progress);
      } catch (const Interrupted&) {
        chunk.rows.pop_back();
        break;
      } catch (const InputError& e) {
        row.error = error_line(e.what());
      } catch (const ModelFailure& e) {
        row.error = error_lines(e.what());
      }
      const auto details =
          options.full ? std::optional(Details{sent, worker.runner.config()}) : std::nullopt;
      const std::size_t begin = chunk.lines.size();
      append_line(chunk.lines, sweep, row, details ? &*details : nullptr);
      chunk.line_ends.push_back(chunk.lines.size());
      if (options.on_finished)
        breaking([&] { options.on_finished(std::string_view(chunk.lines).substr(begin)); });
    }
    advance(share, static_cast<double>(chunk.rows.size()));
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    seconds_each = taken.count() / static_cast<double>(points.size());
    return &chunk;
  };
  const auto emit = [&](Chunk* chunk) {
    if (cut_short) return;
    const std::lock_guard lock(telling);
    cut_short = chunk->rows.size() < chunk->points;
    for (std::size_t i = 0; i < chunk->rows.size(); ++i) {
      if (!chunk->rows[i].result) ++failed;
      const std::size_t begin = i == 0 ? 0 : chunk->line_ends[i - 1];
      const std::string_view lines = chunk->lines;
      if (options.on_row) {
        breaking([&] {
          options.on_row(chunk->rows[i], lines.substr(begin, chunk->line_ends[i] - begin));
        });
      }
    }
    const auto rows = static_cast<std::int64_t>(chunk->rows.size());
    chunk->is_told.store(true, std::memory_order_release);
    done += rows;
    under_way -= static_cast<double>(rows);
    if (options.on_progress) options.on_progress(done, static_cast<double>(done) + under_way);
  };
  tbb::parallel_pipeline(
      static_cast<std::size_t>(options.threads) * 4,
      tbb::make_filter<void, std::vector<std::int64_t>>(tbb::filter_mode::serial_in_order, cut) &
          tbb::make_filter<std::vector<std::int64_t>, Chunk*>(tbb::filter_mode::parallel, run) &
          tbb::make_filter<Chunk*, void>(tbb::filter_mode::serial_in_order, emit));
  return failed;
}

}  // namespace steptime
