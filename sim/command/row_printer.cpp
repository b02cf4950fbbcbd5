#include "sim/command/row_printer.h"

#include "sim/core/text_table.h"
#include "sim/experiment/result_text.h"
#include "sim/experiment/track_record.h"

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {

RowPrinter::RowPrinter(const Sweep& sweep, std::string format, const Terminal& terminal)
    : sweep_(sweep), format_(std::move(format)), terminal_(terminal), table_(sweep) {
  if (format_ == "csv") terminal_.out << csv_row(sweep_csv_head(sweep));
  if (format_ == "json") terminal_.out << "[\n";
}

void RowPrinter::add(std::string_view line) {
  ++rows_;
  if (format_ == "jsonl") terminal_.out << line;
  if (format_ == "json") terminal_.out << (rows_ == 1 ? " " : ",") << line;
  // Most rows need not be taken apart. Parameters that read so only cost the time to look.
  const auto has = [&](const auto& what) {
    return std::search(line.begin(), line.end(), what) != line.end();
  };
  static constexpr std::string_view kError = R"("error":)";
  static constexpr std::string_view kValidated = R"("domain":{"status":"validated")";
  static const std::boyer_moore_horspool_searcher error(kError.begin(), kError.end());
  static const std::boyer_moore_horspool_searcher validated(kValidated.begin(), kValidated.end());
  const bool is_plain = !has(error) && (!unvalidated_.empty() || has(validated));
  if (is_plain && format_ != "table" && format_ != "csv") return;
  const Json row = Json::parse(line);
  if (row.contains("error")) {
    ++failed_;
    if (first_error_.empty()) first_error_ = row["error"].get<std::string>();
  } else if (unvalidated_.empty() && row["domain"]["status"] != "validated") {
    unvalidated_ = Validity::text(row["domain"]);
  }
  if (const auto jobs = row.find("jobs"); jobs != row.end()) jobs_ = std::max(jobs_, jobs->size());
  if (format_ == "table") table_.add(row);
  if (format_ == "csv") terminal_.out << csv_row(sweep_csv_cells(sweep_, row));
}

void RowPrinter::end(const std::string& interrupted) {
  const bool is_whole = interrupted.empty();
  const std::string mark = is_whole ? "" : Json{{"interrupted", interrupted}}.dump() + "\n";
  if (format_ == "jsonl") terminal_.out << mark;
  if (format_ == "json") terminal_.out << (is_whole ? "" : rows_ == 0 ? " " : ",") << mark << "]\n";
  if (format_ == "table") terminal_.out << table_.text();
  if (is_whole) return;
  if (format_ == "table") terminal_.out << "\ninterrupted: " << interrupted << "\n";
  if (format_ == "csv") {
    std::vector<std::string> cells(sweep_csv_head(sweep_).size());
    cells.back() = "interrupted: " + interrupted;
    terminal_.out << csv_row(cells);
  }
}

}  // namespace steptime
