// Do lines know where they stand, and are they taken apart as RFC 4180 has it?
#include "sim/config/text_lines.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::string kFile = "x.csv";

std::vector<std::string> cells(const std::string& record) {
  return TextLine(kFile, 1, record).cells();
}
std::string error_of(const std::string& record) {
  return message_of<InputError>([&] { cells(record); });
}

TEST(TextLines, AreCountedBlankOnesToo) {
  const std::string text = "one\r\n\n \t\n# two";
  const std::vector<TextLine> lines = text_lines(kFile, text);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].text(), "one");
  EXPECT_FALSE(lines[0].is_comment());
  EXPECT_TRUE(lines[1].is_comment());
  EXPECT_EQ(message_of<InputError>([&] { lines[1].fail("three"); }),
            "x.csv: line 4: expected three, got \"# two\"");
  EXPECT_TRUE(text_lines(kFile, "").empty());
}

TEST(TextLines, QuotedCellsHoldCommasAndQuotes) {
  EXPECT_EQ(cells("a,"), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(cells(" a ,b"), (std::vector<std::string>{" a ", "b"}));
  EXPECT_EQ(cells("\"a,b\",\"say \"\"c\"\"\""), (std::vector<std::string>{"a,b", "say \"c\""}));
  EXPECT_EQ(cells("\"\",\"\"\"\""), (std::vector<std::string>{"", "\""}));
  EXPECT_EQ(error_of("\"a"), "x.csv: line 1: expected a closing quote, got \"\\\"a\"");
  for (const char* record : {"\"a\"b,c", "a\"b\",c", "\"a\"\"b\" ,c"}) {
    EXPECT_EQ(error_of(record), "x.csv: line 1: expected a comma behind a closing quote, got " +
                                    testing::PrintToString(std::string(record)))
        << record;
  }
}

TEST(NumberIn, TakesTheWholeText) {
  EXPECT_EQ(number_in<double>(" 1.5\t"), 1.5);
  EXPECT_EQ(number_in<std::int64_t>("-8"), -8);
  for (const char* text : {"", " ", "1 2", "1.5", "0x10", "99999999999999999999"})
    EXPECT_FALSE(number_in<std::int64_t>(text)) << text;
}

}  // namespace
}  // namespace steptime
