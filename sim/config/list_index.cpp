#include "sim/config/list_index.h"

#include <charconv>
#include <system_error>

namespace steptime {

std::optional<std::size_t> list_index(std::string_view key) {
  if (key.size() > 1 && key.front() == '0') return std::nullopt;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (error != std::errc{} || end != key.data() + key.size()) return std::nullopt;
  return index;
}

}  // namespace steptime
