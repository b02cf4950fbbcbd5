#include "sim/core/escaped.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace steptime {
namespace {

/// The code point of one or two bytes, or of three below U+3000, that `text` begins with, and how
/// many bytes it has; other text is its first byte.
struct CodePoint {
  unsigned value = 0;
  std::size_t bytes = 1;
};
CodePoint first_of(std::string_view text) {
  const auto at = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (at(i) & 0xc0U) == 0x80; };
  if ((at(0) & 0xe0U) == 0xc0 && continues(1)) return {(at(0) & 0x1fU) << 6 | (at(1) & 0x3fU), 2};
  if (at(0) == 0xe2 && continues(1) && continues(2))
    return {0x2000U | (at(1) & 0x3fU) << 6 | (at(2) & 0x3fU), 3};
  return {at(0), 1};
}

bool is_escaped(const CodePoint& c) {
  if (c.bytes == 1)
    return (c.value < 0x20 && c.value != '\n' && c.value != '\t') || c.value == 0x7f;
  const auto is_in = [&](unsigned first, unsigned last) {
    return c.value >= first && c.value <= last;
  };
  // Control characters, those of direction, and separators of lines.
  return is_in(0x80, 0x9f) || c.value == 0x61c || is_in(0x200e, 0x200f) || is_in(0x2028, 0x202e) ||
         is_in(0x2066, 0x2069);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const CodePoint c = first_of(text);
    if (is_escaped(c))
      shown += fmt::format("\\u{:04x}", c.value);
    else
      shown += text.substr(0, c.bytes);
    text.remove_prefix(c.bytes);
  }
  return shown;
}

}  // namespace steptime
