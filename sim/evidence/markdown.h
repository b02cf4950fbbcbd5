// Pieces of pages in GitHub's Markdown.
#pragma once
#include <string>
#include <vector>

namespace steptime {

class MarkdownTable {
 public:
  explicit MarkdownTable(const std::vector<std::string>& names);
  /// As many cells as columns, in Markdown; "|" and line ends in them are no problem.
  void add(const std::vector<std::string>& cells);
  std::string text() const { return text_; }

 private:
  std::string text_;
};

/// `text` as it stands, between backquotes.
std::string code(const std::string& text);

/// Where a link to a heading leads: small letters, digits, "-" and "_" are left.
std::string slug(const std::string& heading);

}  // namespace steptime
