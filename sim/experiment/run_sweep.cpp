#include "sim/experiment/run_sweep.h"

#include "sim/core/error.h"
#include "sim/experiment/point_runner.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/compile.h>
#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>

namespace steptime {
namespace {

struct Chunk {
  std::int64_t first = 0;
  std::vector<SweepRow> rows;
  std::string lines;                   ///< one after the other
  std::vector<std::size_t> line_ends;  ///< in `lines`, by row
};

/// `details`: null for a row without them.
void append_line(std::string& text, const Sweep& sweep, const SweepRow& row,
                 const Details* details) {
  fmt::format_to(std::back_inserter(text), FMT_COMPILE("{{\"point\":{},\"params\":{{"), row.point);
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
  const std::int64_t size =
      std::clamp<std::int64_t>(sweep.points() / (std::int64_t{8} * options.threads), 1, 256);
  tbb::enumerable_thread_specific<PointRunner> runners([&] { return PointRunner(sweep); });
  std::int64_t next = 0;
  std::int64_t done = 0;
  std::int64_t failed = 0;
  bool cut_short = false;  // rows behind a hole are dropped, so that what is kept is a prefix
  const auto stopped = [&] { return options.stop != nullptr && options.stop->load(); };
  std::mutex telling;                 // rows and progress
  std::atomic<double> under_way = 0;  // points, those that wait for their turn included
  const auto advance = [&](double& share, double to) {
    under_way += to - share;
    share = to;
  };

  const auto cut = [&](tbb::flow_control& control) -> std::int64_t {
    if (next >= sweep.points() || stopped()) {
      control.stop();
      return 0;
    }
    return std::exchange(next, next + size);
  };
  const auto run = [&](std::int64_t first) {
    auto chunk = std::make_shared<Chunk>(Chunk{.first = first});
    PointRunner& runner = runners.local();
    const std::int64_t end = std::min(first + size, sweep.points());
    chunk->rows.reserve(static_cast<std::size_t>(end - first));
    double share = 0;  // of the point that runs
    const OnProgress on_progress = [&](double now) {
      if (stopped()) throw Interrupted();
      advance(share, now);
      const std::unique_lock lock(telling, std::try_to_lock);
      if (lock && options.on_progress)
        options.on_progress(done, static_cast<double>(done) + under_way);
    };
    for (std::int64_t point = first; point < end && !stopped(); ++point) {
      SweepRow row{.point = point};
      std::vector<SentBucket> sent;
      std::vector<SentBucket>* const buckets = options.full ? &sent : nullptr;
      share = 0;
      try {
        row.result = runner.run(point, buckets, on_progress);
      } catch (const Interrupted&) {
        break;
      } catch (const InputError& e) {
        row.error = one_line(e.what());
      } catch (const ModelFailure& e) {
        row.error = e.what();  // which may have several lines
      }
      const auto details =
          options.full ? std::optional(Details{sent, runner.config()}) : std::nullopt;
      append_line(chunk->lines, sweep, row, details ? &*details : nullptr);
      chunk->line_ends.push_back(chunk->lines.size());
      chunk->rows.push_back(std::move(row));
      advance(share, 1);
    }
    return chunk;
  };
  const auto emit = [&](const std::shared_ptr<Chunk>& chunk) {
    if (cut_short) return;
    const std::lock_guard lock(telling);
    const auto expected = std::min(size, sweep.points() - chunk->first);
    cut_short = static_cast<std::int64_t>(chunk->rows.size()) < expected;
    for (std::size_t i = 0; i < chunk->rows.size(); ++i) {
      if (!chunk->rows[i].result) ++failed;
      const std::size_t begin = i == 0 ? 0 : chunk->line_ends[i - 1];
      const std::string_view lines = chunk->lines;
      if (options.on_row)
        options.on_row(chunk->rows[i], lines.substr(begin, chunk->line_ends[i] - begin));
    }
    const auto rows = static_cast<std::int64_t>(chunk->rows.size());
    done += rows;
    under_way -= static_cast<double>(rows);
    if (options.on_progress) options.on_progress(done, static_cast<double>(done) + under_way);
  };
  tbb::parallel_pipeline(
      static_cast<std::size_t>(options.threads) * 4,
      tbb::make_filter<void, std::int64_t>(tbb::filter_mode::serial_in_order, cut) &
          tbb::make_filter<std::int64_t, std::shared_ptr<Chunk>>(tbb::filter_mode::parallel, run) &
          tbb::make_filter<std::shared_ptr<Chunk>, void>(tbb::filter_mode::serial_in_order, emit));
  return failed;
}

}  // namespace steptime
