// Whole texts are in verb_sweep_test.cpp.
#include "sim/command/row_printer.h"

#include "tests/support/swept.h"

#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kRow =
    R"({"point":0,"params":{},"step_time_s":1,"domain":{"status":"validated"},"version":"1"})"
    "\n";

TEST(RowPrinter, SaysInEveryFormatThatItWasInterrupted) {
  const TinyFolder folder;
  const Sweep sweep = sweep_of(folder, R"({"/run/seed": [1, 2]})");
  const auto text = [&](const std::string& format, int rows) {
    std::ostringstream out, err;
    const Terminal terminal{.out = out, .err = err};
    RowPrinter printer(sweep, format, terminal);
    for (int i = 0; i < rows; ++i)
      printer.add(kRow);
    printer.end("1 of 2 points are done");
    return out.str();
  };
  const std::string mark = R"({"interrupted":"1 of 2 points are done"})";
  EXPECT_EQ(text("jsonl", 1), kRow + mark + "\n");
  EXPECT_EQ(text("json", 1), std::string("[\n ") + kRow + "," + mark + "\n]\n");
  EXPECT_EQ(text("json", 0), "[\n " + mark + "\n]\n");
  EXPECT_TRUE(text("csv", 1).ends_with(",interrupted: 1 of 2 points are done\n")) << text("csv", 1);
  EXPECT_TRUE(text("table", 1).ends_with("\n\ninterrupted: 1 of 2 points are done\n"));
}

TEST(RowPrinter, CountsWhatFailedAndKeepsTheFirstOfEach) {
  const TinyFolder folder;
  const Sweep sweep = sweep_of(folder, R"({"/run/seed": [1, 2, 3, 4, 5]})");
  std::ostringstream out, err;
  const Terminal terminal{.out = out, .err = err};
  RowPrinter printer(sweep, "", terminal);
  printer.add(kRow);
  printer.add("{\"point\":1,\"params\":{},\"error\":\"one\"}\n");
  printer.add(
      "{\"point\":2,\"params\":{\"/"
      "a\":\"\\\"error\\\":\"},\"domain\":{\"status\":\"extrapolated\",\"beyond\":[\"far\",\"out\"]"
      "}}\n");
  printer.add("{\"point\":3,\"params\":{},\"error\":\"two\"}\n");
  printer.add("{\"point\":4,\"params\":{},\"domain\":{\"status\":\"unvalidated\"}}\n");
  printer.end("");
  EXPECT_EQ(printer.rows(), 5);
  EXPECT_EQ(printer.failed(), 2);
  EXPECT_EQ(printer.first_error(), "one");
  EXPECT_EQ(printer.unvalidated(), "extrapolated: far; out");
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace steptime
