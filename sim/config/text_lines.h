// Text input line by line: a line knows where it stands, so that what is wrong with it is said in
// one line, and as a record of CSV it is taken apart as RFC 4180 has it; a record is one line.
#pragma once
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace steptime {

/// A line without its end. Points into the file's name and text.
class TextLine {
 public:
  TextLine(const std::string& file, int number, std::string_view text)
      : file_(&file), number_(number), text_(text) {}

  std::string_view text() const { return text_; }
  bool is_comment() const { return text_.starts_with('#'); }

  /// Throws InputError "<file>: line N: expected ..., got ...".
  [[noreturn]] void fail(std::string_view expected, std::string_view got) const;
  [[noreturn]] void fail(std::string_view expected) const { fail(expected, text_); }

  /// The comma-separated cells of `record`, which stands on this line; in a quoted cell commas are
  /// text and "" is a quote.
  std::vector<std::string> cells(std::string_view record) const;
  std::vector<std::string> cells() const { return cells(text_); }

 private:
  const std::string* file_;
  int number_;  ///< from 1
  std::string_view text_;
};

/// The lines that are not blank. `file` and `text` must outlive them.
std::vector<TextLine> text_lines(const std::string& file, std::string_view text);

/// Without the spaces and tabs around it.
std::string_view trimmed(std::string_view text);

/// All of the text as a number, spaces around it aside; else nothing.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  text = trimmed(text);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace steptime
