// Is the interval of a memory as far off as the furthest published run, and does the file say it?
#include "sim/experiment/memory_record.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// One allocated a quarter more than was simulated, one half as much.
std::vector<MemoryRow> two_rows() {
  return {{.id = "a", .group = "one", .error_pct = 25},
          {.id = "b", .group = "two", .error_pct = -50}};
}

// A factor of two is further off than one of 1.25, whichever way.
TEST(MemoryRecord, AnIntervalReachesAsFarAsTheFurthestRun) {
  const Interval all = MemoryRecord(two_rows()).interval(100);
  EXPECT_DOUBLE_EQ(all.low, 50);
  EXPECT_DOUBLE_EQ(all.high, 200);
  const Interval others = MemoryRecord(two_rows()).without("two").interval(100);
  EXPECT_DOUBLE_EQ(others.low, 80);
  EXPECT_DOUBLE_EQ(others.high, 125);
  EXPECT_EQ(MemoryRecord({}).interval(100).high, 100);
}

TEST(MemoryRecord, ItsTextIsReadAsItWasWritten) {
  const std::string text = memory_text(two_rows());
  EXPECT_EQ(text,
            "{\"id\":\"a\",\"group\":\"one\",\"error_pct\":25.0}\n"
            "{\"id\":\"b\",\"group\":\"two\",\"error_pct\":-50.0}\n");
  EXPECT_EQ(memory_text(parse_memory(text, "memory.jsonl")), text);
}

TEST(MemoryRecord, RefusesALineByItsNumber) {
  const std::string text = memory_text(two_rows()) + R"({"id":"c","group":"one","error_pct":-100})";
  EXPECT_TRUE(message_of<InputError>([&] {
                parse_memory(text, "memory.jsonl");
              }).starts_with("memory.jsonl:3: /error_pct: "));
}

}  // namespace
}  // namespace steptime
