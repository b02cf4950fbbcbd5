#include "sim/command/date_option.h"

#include "sim/config/json.h"
#include "sim/core/error.h"

#include <chrono>
#include <cstdio>

#include <fmt/format.h>

namespace steptime {

void check_date(const std::string& text) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int end = 0;
  const bool formed = std::sscanf(text.c_str(), "%4d-%2u-%2u%n", &year, &month, &day, &end) == 3 &&
                      end == 10 && text.size() == 10 &&
                      text.find_first_not_of("0123456789-") == text.npos;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (formed && date.ok()) return;
  throw InputError(fmt::format("--date: expected a day such as 2026-01-31, got {}", brief(text)));
}

}  // namespace steptime
