// Every point of an experiment's "sweep": JSON pointers and the values to try.
//
// Points are numbered in row-major order: the last key varies fastest; keys whose values are
// {"zip": [...]} advance together, in the place of the first of them. Rows come out in the order of
// the points, whatever the number of threads.
#pragma once
#include "sim/config/config.h"
#include "sim/core/limits.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/result.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace steptime {

/// The values of the keys that advance together.
struct Axis {
  std::vector<std::string> pointers;
  /// values[i][k]: of the k-th pointer at the i-th place of the axis.
  std::vector<std::vector<Json>> values;
  /// texts[i]: "pointer":value of every pointer at the i-th place, as in a JSONL row.
  std::vector<std::string> texts;
};

class Sweep {
 public:
  /// A config without "sweep" has one point. Throws InputError for a malformed sweep.
  explicit Sweep(std::shared_ptr<const Document> document);

  std::int64_t points() const { return points_; }
  const std::vector<Axis>& axes() const { return axes_; }
  /// The swept pointers, in order.
  std::vector<std::string> pointers() const;
  /// The value of every pointer at a point.
  std::vector<Json> params(std::int64_t point) const;
  /// The same as the inside of a JSON object.
  void append_params(std::string& text, std::int64_t point) const;
  const Document& document() const { return *document_; }

 private:
  friend class PointRunner;
  /// Place on every axis.
  std::vector<std::size_t> places(std::int64_t point) const;

  std::shared_ptr<const Document> document_;
  std::vector<Axis> axes_;
  std::int64_t points_ = 1;
};

/// Runs points one after another, keeping the parts that did not change between them. One per
/// thread.
class PointRunner {
 public:
  explicit PointRunner(const Sweep& sweep);
  ~PointRunner();
  /// The experiment of a point, until the next one is read. Throws InputError when its config is
  /// not valid.
  const Experiment& read(std::int64_t point);
  /// Reads and simulates it. `buckets`: as in simulate().
  Result run(std::int64_t point, std::vector<SentBucket>* buckets = nullptr,
             const OnProgress& on_progress = {});
  /// The experiment and the config of the point that ran last.
  const Experiment& experiment() const;
  const Json& config() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One point's outcome: a result, or the message of what failed; a failure of the modelled system
/// may take several lines.
struct SweepRow {
  std::int64_t point = 0;
  std::optional<Result> result;
  std::string error;
};

struct SweepOptions {
  int threads = 1;
  bool full = false;  ///< rows carry buckets and config
  /// Called in the order of the points, from one thread at a time, with a point's JSONL line.
  std::function<void(const SweepRow&, const std::string& line)> on_row;
  /// Called now and then, never while on_row is, with the number of points that were handed to it
  /// and with the share of the whole that is done, in points.
  std::function<void(std::int64_t rows, double points)> on_progress;
  /// Set from outside to end the sweep early; what is finished was handed to on_row.
  const std::atomic<bool>* stop = nullptr;
};

/// Returns the number of points that failed.
std::int64_t run_sweep(const Sweep& sweep, const SweepOptions& options);

}  // namespace steptime
