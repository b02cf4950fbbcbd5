#include "sim/core/text_table.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

bool is_number(std::string_view cell) {
  if (!cell.empty() && (cell.front() == '-' || cell.front() == '+')) cell.remove_prefix(1);
  return !cell.empty() && cell.front() >= '0' && cell.front() <= '9';
}

}  // namespace

std::string TextTable::text() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  std::vector<bool> right(widths.size(), rows_.size() > 1);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < widths.size(); ++c) {
      widths[c] = std::max(widths[c], rows_[r][c].size());
      if (r > 0 && !rows_[r][c].empty() && !is_number(rows_[r][c])) right[c] = false;
    }
  }
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      if (c > 0) line += "  ";
      line += right[c] ? fmt::format("{:>{}}", rows_[r][c], widths[c])
                       : fmt::format("{:<{}}", rows_[r][c], widths[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
    if (r > 0) continue;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      text += (c > 0 ? "  " : "") + std::string(widths[c], '-');
    }
    text += "\n";
  }
  return text;
}

std::string csv_row(const std::vector<std::string>& cells) {
  std::string row;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) row += ',';
    if (cell.find_first_of(",\"\r\n") == std::string::npos) {
      row += cell;
      continue;
    }
    row += '"';
    for (const char c : cell)
      row += c == '"' ? std::string("\"\"") : std::string(1, c);
    row += '"';
  }
  return row + "\n";
}

}  // namespace steptime
