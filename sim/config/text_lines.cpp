#include "sim/config/text_lines.h"

#include "sim/config/json.h"
#include "sim/core/error.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace steptime {

void TextLine::fail(std::string_view expected, std::string_view got) const {
  throw InputError(fmt::format("{}: line {}: expected {}, got {}", *file_, number_, expected,
                               brief(std::string(got))));
}

std::vector<std::string> TextLine::cells(std::string_view record) const {
  std::vector<std::string> cells(1);
  bool quoted = false;
  bool was_quoted = false;
  for (std::size_t i = 0; i < record.size(); ++i) {
    const char c = record[i];
    if (quoted && c == '"' && i + 1 < record.size() && record[i + 1] == '"') {
      cells.back() += c;
      ++i;
    } else if (quoted && c == '"') {
      quoted = false;
      was_quoted = true;
    } else if (!quoted && c == ',') {
      cells.emplace_back();
      was_quoted = false;
    } else if (!quoted && c == '"' && cells.back().empty() && !was_quoted) {
      quoted = true;
    } else if (!quoted && (c == '"' || was_quoted)) {
      fail("a comma behind a closing quote", record);
    } else {
      cells.back() += c;
    }
  }
  if (quoted) fail("a closing quote", record);
  return cells;
}

std::vector<TextLine> text_lines(const std::string& file, std::string_view text) {
  std::vector<TextLine> lines;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!trimmed(line).empty()) lines.emplace_back(file, number, line);
  }
  return lines;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace steptime
