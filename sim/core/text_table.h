// Tables for people: aligned columns, no colours.
#pragma once
#include <string>
#include <vector>

namespace steptime {

class TextTable {
 public:
  explicit TextTable(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// Cells that start with a digit or a sign are aligned to the right, others to the left.
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// One row of RFC 4180 CSV, with its line end.
std::string csv_row(const std::vector<std::string>& cells);

}  // namespace steptime
