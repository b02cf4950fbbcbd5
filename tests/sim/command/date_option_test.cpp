// Which texts are days.
#include "sim/command/date_option.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(DateOption, IsADayOfTheCalendar) {
  for (const char* day : {"2026-01-31", "2024-02-29", "1999-12-01"})
    EXPECT_NO_THROW(check_date(day)) << day;
  for (const std::string day :
       {"2026-13-45", "2025-02-29", "2026-1-31", "31.1.2026", "2026-01-31 ", "", "yesterday"}) {
    EXPECT_EQ(message_of<InputError>([&] { check_date(day); }),
              "--date: expected a day such as 2026-01-31, got \"" + day + "\"");
  }
}

}  // namespace
}  // namespace steptime
