#include "sim/core/text_table.h"

#include "sim/core/escaped.h"

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

TextTable::TextTable(const std::vector<std::string>& names) {
  for (const std::string& name : names)
    columns_.push_back({.name = name});
}

std::string TextTable::text() const {
  auto rows = rows_;
  for (auto& row : rows) {
    for (std::string& cell : row)
      cell = escaped(cell);
  }
  std::vector<std::string> names, units, rules;
  std::vector<bool> right;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    std::size_t width = std::max({column.width, column.name.size(), column.unit.size()});
    bool has_numbers = !rows.empty();
    for (const auto& row : rows) {
      width = std::max(width, row[c].size());
      has_numbers = has_numbers && (row[c].empty() || is_number(row[c]));
    }
    right.push_back(column.align == Align::kByContent ? has_numbers
                                                      : column.align == Align::kRight);
    names.push_back(column.name);
    units.push_back(column.unit);
    rules.emplace_back(width, '-');
  }
  std::string text;
  const auto add_line = [&](std::string_view mark, const std::vector<std::string>& cells) {
    std::string line(mark);
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::size_t width = rules[c].size();
      if (c > 0) line += style_.gap;
      line += right[c] ? fmt::format("{:>{}}", cells[c], width)
                       : fmt::format("{:<{}}", cells[c], width);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  const auto has_text = [](const std::vector<std::string>& cells) {
    return std::any_of(cells.begin(), cells.end(), [](const auto& cell) { return !cell.empty(); });
  };
  if (has_text(names)) add_line(style_.head_mark, names);
  if (has_text(units)) add_line(style_.head_mark, units);
  if (has_text(names) && style_.has_rule) add_line(style_.head_mark, rules);
  for (const auto& row : rows)
    add_line(style_.row_mark, row);
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
