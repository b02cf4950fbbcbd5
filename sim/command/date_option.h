// The day that --date says.
#pragma once
#include <string>

namespace steptime {

/// Throws InputError unless the text is a day of the calendar, as 2026-01-31.
void check_date(const std::string& text);

}  // namespace steptime
