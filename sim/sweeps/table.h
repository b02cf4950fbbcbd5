// The rows of a sweep as a table for people, and as cells of CSV.
#pragma once
#include "sim/config/json.h"
#include "sim/experiment/result_text.h"
#include "sim/sweeps/sweep.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace steptime {

/// A column for each figure that some point has. What failed has the number of a note below the
/// table, where it also says how many points are not validated by measurements.
class SweepTable {
 public:
  explicit SweepTable(const Sweep& sweep) : sweep_(sweep) {}
  /// As run_sweep() writes it.
  void add(const Json& row);
  std::string text() const;

 private:
  struct Row {
    std::vector<std::string> params;
    std::vector<std::string> figures;  ///< one per column, and the number of the note
  };
  const Sweep& sweep_;
  std::vector<Row> rows_;
  std::map<std::string, std::size_t> numbers_;  ///< which number a note has, by its text
  std::string notes_;
  std::size_t unvalidated_ = 0;  ///< points
  std::string why_;              ///< is the first of these
};

/// The point, its parameters, every figure that CSV has, and the error.
std::vector<std::string> sweep_csv_head(const Sweep& sweep);
std::vector<std::string> sweep_csv_cells(const Sweep& sweep, const Json& row);

}  // namespace steptime
