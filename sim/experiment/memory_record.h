// How good predictions of memory have been: what published training runs have allocated beside what
// is simulated, as `steptime reproduce --memory` writes it to traces/memory.jsonl. The memory of a
// layout gets an interval from it: prediction x exp(+-w), w the largest |ln(published / predicted)|
// of all rows.
//
// Scope: w holds what the worst of these runs was off, and is no quantile: three labs' runs are too
// few for one. What an allocator reserves beyond what it holds is in the published figures of some.
#pragma once
#include "sim/experiment/track_record.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace steptime {

/// A published allocation beside its prediction.
struct MemoryRow {
  std::string id;
  std::string group;
  double error_pct = 0;  ///< published over simulated memory, - 100 %
};

class MemoryRecord {
 public:
  explicit MemoryRecord(std::vector<MemoryRow> rows) : rows_(std::move(rows)) {}
  /// The shipped one. Throws InputError when it cannot be read.
  static const MemoryRecord& shipped();

  /// Of so many bytes; just themselves where there are no rows.
  Interval interval(double bytes) const;
  /// Without the rows of a group.
  MemoryRecord without(const std::string& group) const;

 private:
  std::vector<MemoryRow> rows_;
};

/// The file's text: a JSON object for each row, on a line of its own.
std::string memory_text(std::span<const MemoryRow> rows);
/// Throws InputError.
std::vector<MemoryRow> parse_memory(const std::string& text, const std::string& file);

}  // namespace steptime
