// The rows of a sweep on the terminal, as a table, JSON, JSON lines or CSV, and what they say as a
// whole.
#pragma once
#include "sim/command/cli.h"
#include "sim/sweeps/sweep.h"
#include "sim/sweeps/table.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace steptime {

class RowPrinter {
 public:
  /// `format`: "" prints nothing and only looks at the rows.
  RowPrinter(const Sweep& sweep, std::string format, const Terminal& terminal);
  /// A row as run_sweep() writes it, in the order of the points.
  void add(std::string_view line);
  /// `interrupted`: "", or what the output says of itself.
  void end(const std::string& interrupted);

  std::int64_t rows() const { return rows_; }
  std::int64_t failed() const { return failed_; }
  const std::string& first_error() const { return first_error_; }
  /// How many a point has at most; 0 where the format does not ask.
  std::size_t jobs() const { return jobs_; }
  /// The domain of the first row that is not validated.
  const std::string& unvalidated() const { return unvalidated_; }

 private:
  const Sweep& sweep_;
  std::string format_;
  const Terminal& terminal_;
  SweepTable table_;
  std::int64_t rows_ = 0;
  std::int64_t failed_ = 0;
  std::size_t jobs_ = 0;
  std::string first_error_;
  std::string unvalidated_;
};

}  // namespace steptime
