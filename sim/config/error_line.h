// Messages of errors, which may quote long texts of files.
#pragma once
#include <string>

namespace steptime {

/// one_line() with at most 2,000 bytes: "..." for what stands in the middle of a longer one.
std::string error_line(std::string text);
/// The same for each line of a message of several.
std::string error_lines(const std::string& text);

}  // namespace steptime
