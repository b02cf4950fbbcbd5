// Names in a line of text that nobody should have to scroll through.
#pragma once
#include <span>
#include <string>

namespace steptime {

/// "a, b, c"; what would make a line too long is "and N more".
std::string listed(std::span<const std::string> words);

}  // namespace steptime
