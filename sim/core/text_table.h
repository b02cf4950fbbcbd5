// Tables for people: aligned columns, no colours.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace steptime {

class TextTable {
 public:
  enum class Align {
    kByContent,  ///< right when every cell starts with a digit or a sign, else left
    kLeft,
    kRight,
  };
  struct Column {
    std::string name;
    std::string unit{};     ///< on a second line of the head
    std::size_t width = 0;  ///< at least
    Align align = Align::kByContent;
  };
  struct Style {
    std::string_view gap = "  ";   ///< between columns
    std::string_view head_mark{};  ///< in front of the lines of the head
    std::string_view row_mark{};   ///< in front of the others
    bool has_rule = true;          ///< dashes under the head
  };

  explicit TextTable(const std::vector<std::string>& names);
  /// Columns without any name have no head.
  TextTable(std::vector<Column> columns, Style style)
      : columns_(std::move(columns)), style_(style) {}
  /// As many cells as columns.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<Column> columns_;
  Style style_;
  std::vector<std::vector<std::string>> rows_;
};

/// One row of RFC 4180 CSV, with its line end.
std::string csv_row(const std::vector<std::string>& cells);

}  // namespace steptime
