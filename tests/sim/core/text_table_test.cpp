#include "sim/core/text_table.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(TextTable, AlignsNumbersRightAndTextLeft) {
  // A column is as wide as its widest cell; two spaces part columns. A column is a number's when
  // every cell under its head starts with a digit, or with a sign and a digit.
  TextTable table({"schedule", "step ms", "error"});
  table.add({"wfbp", "44.000", "+1.5 %"});
  table.add({"optimal", "9.5", "-12.0 %"});
  EXPECT_EQ(table.text(),
            "schedule  step ms    error\n"
            "--------  -------  -------\n"
            "wfbp       44.000   +1.5 %\n"
            "optimal       9.5  -12.0 %\n");
}

TEST(TextTable, AnEmptyCellDoesNotTurnAColumnOfNumbersIntoText) {
  TextTable table({"a", "count"});
  table.add({"x", ""});
  table.add({"y", "12"});
  EXPECT_EQ(table.text(),
            "a  count\n"
            "-  -----\n"
            "x\n"
            "y     12\n");
}

TEST(TextTable, OneWordTurnsAColumnToTheLeft) {
  TextTable table({"value"});
  table.add({"12"});
  table.add({"none"});
  table.add({"-"});
  EXPECT_EQ(table.text(), "value\n-----\n12\nnone\n-\n");
}

TEST(TextTable, HasAHeadWithoutRows) {
  EXPECT_EQ(TextTable({"a", "bc"}).text(), "a  bc\n-  --\n");
}

TEST(TextTable, LinesDoNotEndInSpaces) {
  TextTable table({"a", "b"});
  table.add({"x", "long text"});
  table.add({"y", "t"});
  EXPECT_EQ(table.text(), "a  b\n-  ---------\nx  long text\ny  t\n");
}

TEST(TextTable, ColumnsMayHaveUnitsWidthsAndAnAlignment) {
  TextTable table({{"size", "(B)", 5}, {"type", "", 0, TextTable::Align::kRight}, {"note"}},
                  {.gap = " ", .head_mark = "# ", .row_mark = "  ", .has_rule = false});
  table.add({"8", "float", "x"});
  table.add({"1234567", "int", ""});
  EXPECT_EQ(table.text(),
            "#    size  type note\n"
            "#     (B)\n"
            "        8 float x\n"
            "  1234567   int\n");
}

TEST(TextTable, ColumnsWithoutNamesHaveNoHead) {
  TextTable table({{.width = 4, .align = TextTable::Align::kLeft}, {}}, {.row_mark = "  "});
  table.add({"12", "a"});
  table.add({"b", ""});
  EXPECT_EQ(table.text(), "  12    a\n  b\n");
}

TEST(CsvRow, QuotesWhatRfc4180Asks) {
  EXPECT_EQ(csv_row({"a", "1.5", ""}), "a,1.5,\n");
  EXPECT_EQ(csv_row({"a,b"}), "\"a,b\"\n");
  EXPECT_EQ(csv_row({"a\"b"}), "\"a\"\"b\"\n");
  EXPECT_EQ(csv_row({"a\nb", "c\rd"}), "\"a\nb\",\"c\rd\"\n");
  EXPECT_EQ(csv_row({" a "}), " a \n");
  EXPECT_EQ(csv_row({}), "\n");
}

}  // namespace
}  // namespace steptime
