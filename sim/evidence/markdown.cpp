#include "sim/evidence/markdown.h"

namespace steptime {

MarkdownTable::MarkdownTable(const std::vector<std::string>& names) {
  add(names);
  text_ += "|";
  for (std::size_t i = 0; i < names.size(); ++i)
    text_ += "---|";
  text_ += "\n";
}

void MarkdownTable::add(const std::vector<std::string>& cells) {
  text_ += "|";
  for (const std::string& cell : cells) {
    text_ += cell.empty() ? "" : " ";
    for (const char c : cell) {
      if (c == '|')
        text_ += "\\|";
      else
        text_ += c == '\n' ? ' ' : c;
    }
    text_ += " |";
  }
  text_ += "\n";
}

std::string code(const std::string& text) {
  return "`" + text + "`";
}

std::string slug(const std::string& heading) {
  std::string place;
  for (const char c : heading) {
    if (c >= 'A' && c <= 'Z')
      place += static_cast<char>(c - 'A' + 'a');
    else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_')
      place += c;
    else if (c == ' ')
      place += '-';
  }
  return place;
}

}  // namespace steptime
