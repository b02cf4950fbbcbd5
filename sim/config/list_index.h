// Indices of lists in JSON pointers.
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

namespace steptime {

/// A list's index as RFC 6901, section 4, writes one: digits, of which the first is 0 in "0" alone.
std::optional<std::size_t> list_index(std::string_view key);

}  // namespace steptime
