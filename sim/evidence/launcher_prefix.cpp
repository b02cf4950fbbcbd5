#include "sim/evidence/launcher_prefix.h"

#include "sim/config/text_lines.h"

#include <cstddef>

namespace steptime {
namespace {

std::size_t digits_from(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9')
    ++end;
  return end - at;
}

/// "[1,0]<stdout>:", "[1,0]<stderr>:" or "[0]"; how long it is, 0: none.
std::size_t in_brackets(std::string_view line) {
  if (!line.starts_with('[')) return 0;
  std::size_t at = 1 + digits_from(line, 1);
  if (at == 1) return 0;
  if (at < line.size() && line[at] == ',') at += 1 + digits_from(line, at + 1);
  if (at >= line.size() || line[at] != ']') return 0;
  ++at;
  for (const std::string_view stream : {"<stdout>:", "<stderr>:", ":"}) {
    if (line.substr(at).starts_with(stream)) return at + stream.size();
  }
  return at;
}

/// "12: ".
std::size_t rank_and_colon(std::string_view line) {
  const std::size_t digits = digits_from(line, 0);
  if (digits == 0 || !line.substr(digits).starts_with(':')) return 0;
  const std::size_t end = digits + 1;
  return end == line.size() || line[end] == ' ' || line[end] == '\t' || line[end] == '#' ? end : 0;
}

/// "2026-01-31T10:00:00.123Z", and "stdout F" behind it.
std::size_t time_stamp(std::string_view line) {
  const std::string_view day = line.substr(0, line.find('T'));
  if (day.size() != 10 || digits_from(day, 0) != 4 || day[4] != '-' || day[7] != '-') return 0;
  const std::size_t end = line.find(' ');
  if (end == line.npos) return 0;
  for (const std::string_view stream : {" stdout F ", " stderr F "}) {
    if (line.substr(end).starts_with(stream)) return end + stream.size();
  }
  return end;
}

}  // namespace

std::string_view without_launcher_prefix(std::string_view line) {
  for (line = trimmed(line);; line = trimmed(line)) {
    std::size_t length = 0;
    for (const auto of : {in_brackets, rank_and_colon, time_stamp})
      length = length > 0 ? length : of(line);
    if (length == 0 && line.starts_with("> ")) length = 2;
    if (length == 0) return line;
    line.remove_prefix(length);
  }
}

}  // namespace steptime
