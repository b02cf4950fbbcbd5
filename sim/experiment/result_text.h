// How a result is written: as a JSON object, a JSONL row, a CSV row. All of them are views of the
// table of figures (sim/experiment/figures.h).
#pragma once
#include "sim/experiment/result.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// A figure by its key. Throws InputError for a key that is no number, or is not known for this
/// run.
double figure_of(const Result& result, std::string_view key);

/// Appends `"step_time_s":0.1,...` (no braces), the same bytes for equal results.
void append_json(std::string& text, const Result& result, const Details* details = nullptr);
/// One object with the details.
Json full_json(const Result& result, std::span<const SentBucket> buckets, const Json& config,
               const NamedDigests& inputs = {});
/// A column of CSV: a figure, or one end of an interval.
struct Column {
  std::string name;
  std::string_view key;              ///< the figure's
  std::optional<std::size_t> end{};  ///< 0: low, 1: high
};
/// In order: every figure but the lists.
std::span<const Column> csv_columns();
/// Cells of a CSV row, one for each column; empty where there is no value.
std::vector<std::string> csv_cells(const Result& result);

}  // namespace steptime
