#include "sim/config/error_line.h"

#include "sim/config/json.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace steptime {

std::string error_line(std::string text) {
  constexpr std::size_t kMost = 2000;
  constexpr std::size_t kFirst = 1400;  // where the message says which place it is about
  constexpr std::string_view kGap = " ... ";
  const std::string line = one_line(std::move(text));
  if (line.size() <= kMost) return line;
  const auto is_inside = [&](std::size_t at) {  // of a character of several bytes
    return at < line.size() && (static_cast<unsigned char>(line[at]) & 0xc0) == 0x80;
  };
  std::size_t first = kFirst;
  std::size_t second = line.size() - (kMost - kFirst - kGap.size());
  while (is_inside(first))
    --first;
  while (is_inside(second))
    ++second;
  return line.substr(0, first) + std::string(kGap) + line.substr(second);
}

std::string error_lines(const std::string& text) {
  std::string lines;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find('\n', at);
    lines += error_line(text.substr(at, end - at));
    if (end == std::string::npos) return lines;
    lines += '\n';
    at = end + 1;
  }
}

}  // namespace steptime
