#include "sim/evidence/nccl_columns.h"

#include "sim/core/error.h"
#include "sim/evidence/benchmark_words.h"
#include "tests/support/messages.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kHead =
    "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong";

std::string refusal(const std::string& row) {
  const NcclColumns columns(kHead);
  const std::string file = "m.txt";
  const TextLine line(file, 1, row);
  const auto words = words_of(row);
  return message_of<InputError>(
      [&] { columns.check_row(line, row, words, columns.time_column(words)); });
}

TEST(NcclColumns, AHeadNamesASizeAndATime) {
  EXPECT_FALSE(NcclColumns(kHead).empty());
  EXPECT_FALSE(NcclColumns("size(B) count(elems) type time(us)").empty());
  for (const char* line : {"size count time", "# nThread 1 nGpus 8", "# size count type", ""})
    EXPECT_TRUE(NcclColumns(line).empty()) << line;
}

TEST(NcclColumns, ABlankSumMovesTheTimeForward) {
  const NcclColumns columns(kHead);
  EXPECT_EQ(columns.time_column(words_of("8 2 float sum -1 10.5 0 0 0")), 5U);
  EXPECT_EQ(columns.time_column(words_of("8 2 float -1 10.5 0 0 0")), 4U);
}

TEST(NcclColumns, TheTimeHasTheUnitOfItsHead) {
  EXPECT_EQ(NcclColumns(kHead).time_unit_us(), 1);
  EXPECT_EQ(NcclColumns("# bytes N type op time").time_unit_us(), 1000);
  EXPECT_EQ(NcclColumns("size(B) count(elems) type time(ms)").time_unit_us(), 1000);
}

/// 1 MB in 100 us are 10 GB/s.
TEST(NcclColumns, ARowHasItsTimeAndRightValues) {
  EXPECT_EQ(refusal("1000000 250000 float sum -1 100.0 10.00 17.50 0 99.0 10.10 17.68 0"),
            "no error");
  EXPECT_EQ(refusal("1000000 250000 float sum -1 100.0 10.00 17.50 N/A"), "no error");
  EXPECT_EQ(refusal("1000000 250000 float sum -1 100.0 10.00 17.50 17 99.0 10.10 17.68 0"),
            "m.txt: line 1: expected results that the benchmark itself found right (0 \"#wrong\"), "
            "got \"1000000 250000 float sum -1 100.0 10.00 17.50 17 99.0 10.10...");
  EXPECT_EQ(refusal("1000000 250000 float sum -1 10.00 17.50 0 99.0 10.10 17.68 0"),
            "m.txt: line 1: expected a row with a time in its column, got \"1000000 250000 float "
            "sum -1 10.00 17.50 0 99.0 10.10 17.68 ...");
}

}  // namespace
}  // namespace steptime
