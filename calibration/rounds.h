// What the programs that measure have in common: which sizes, how many rounds of them, and the file
// that `steptime calibrate fit` reads (sim/evidence/measured_rounds.h).
#pragma once
#include "sim/core/limits.h"
#include "sim/evidence/measured_rounds.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <boost/program_options.hpp>

namespace steptime {

/// From first to last, each `factor` times the one before, in whole float32 values; the last one
/// included.
std::vector<std::int64_t> size_grid(std::int64_t first, std::int64_t last, double factor);

/// "2026-01-31", by UTC.
std::string today();

/// The options that say what is measured and where it is written.
class MeasureOptions {
 public:
  /// Adds -b, -e, -f, --rounds, --seconds, --only, --note and -o.
  explicit MeasureOptions(boost::program_options::options_description& options);
  /// Of -b, -e and -f. Throws InputError.
  std::vector<std::int64_t> sizes() const;
  /// Throws InputError.
  void check() const;

  std::int64_t rounds = 0;
  double seconds = 0;
  std::string only;  ///< the one operation to measure; empty: all
  std::string note;
  std::string path;

 private:
  std::string first_;
  std::string last_;
  double factor_ = 2;
};

/// An operation that can be timed.
struct TimedOperation {
  std::string name;
  std::int64_t ranks = 1;
  std::function<double(std::int64_t bytes)> seconds;  ///< once; positive
  bool has_size = true;                               ///< otherwise it is measured with 0 B only
};

/// All operations and sizes, round by round. The first round, in which connections are made and
/// memory is touched, is not counted, nor is an operation's first call in each round, which comes
/// after another operation's. `is_over` is asked after each round, and ends it once there are two.
/// Throws InputError when `options.only` names none of them.
MeasuredRounds measure_rounds(const std::vector<TimedOperation>& all,
                              std::span<const std::int64_t> sizes, const MeasureOptions& options,
                              const std::function<bool()>& is_over, const OnProgress& on_progress);

}  // namespace steptime
