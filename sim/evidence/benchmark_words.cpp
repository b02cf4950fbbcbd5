#include "sim/evidence/benchmark_words.h"

#include "sim/config/text_lines.h"

#include <cctype>
#include <utility>

#include <fmt/format.h>

namespace steptime {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!(line = trimmed(line)).empty()) {
    words.push_back(line.substr(0, line.find_first_of(" \t")));
    line.remove_prefix(words.back().size());
  }
  return words;
}

bool looks_like_number(std::string_view word) {
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word.front())) != 0 &&
         word.find_first_not_of("0123456789.eE+-") == word.npos;
}

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

std::string without_labels(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t end = line[i] == '[' ? line.find_first_not_of("0123456789", i + 1) : i;
    const bool is_label = end != line.npos && end > i + 1 && line[end] == ']';
    text += is_label ? ' ' : line[i];
    if (is_label) i = end;
  }
  return text;
}

std::string named_operation(std::string_view name) {
  constexpr std::pair<std::string_view, const char*> kOperations[] = {
      {"allreduce", "all-reduce"},
      {"allgather", "all-gather"},
      {"allr", "all-reduce"},
      {"allg", "all-gather"},
      {"reducescatter", "reduce-scatter"},
      {"redsct", "reduce-scatter"},
      {"broadcast", "broadcast"},
      {"bcast", "broadcast"},
      {"reduce", "reduce"},
      {"alltoall", "all-to-all"},
      {"alltoallpersonalizedexchange", "all-to-all"},
      {"latency", "ping-pong"},
      {"", "ping-pong"}};
  std::string letters;
  for (const char c : lower(name)) {
    if (c >= 'a' && c <= 'z') letters += c;
  }
  for (const auto& [known, operation] : kOperations) {
    if (letters == known) return operation;
  }
  return letters;
}

double time_unit(const std::string& name) {
  for (const char* what : {"time", "latency", "avg_time"}) {
    for (const auto& [unit, us] :
         {std::pair{"ns", 1e-3}, {"us", 1.0}, {"ms", 1e3}, {"s", 1e6}, {"seconds", 1e6}}) {
      if (name == fmt::format("{}_{}", what, unit) || name == fmt::format("{}({})", what, unit))
        return us;
    }
  }
  return 0;
}

}  // namespace steptime
