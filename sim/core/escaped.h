// Text from files, as a terminal may show it.
#pragma once
#include <string>
#include <string_view>

namespace steptime {

/// The text with its control characters, but line ends and tabs, and the characters that turn the
/// direction of a line as "\u202e": none can move a terminal's cursor, or let a line read otherwise
/// than it is. Bytes that are not UTF-8 stay.
std::string escaped(std::string_view text);

}  // namespace steptime
