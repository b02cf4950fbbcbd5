// Which axis of a sweep goes where in its figure, by how many values each has.
#include "sim/drawing/sweep_figure.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/swept_rows.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(SweepFigure, TheAxisWithFewerValuesTellsLinesApart) {
  const SweepFigure figure = sweep_figure(swept_grid(12, 3), {});
  // A line below the axis' name keeps the legend off it.
  EXPECT_EQ(times(figure.commands, "set xlabel 'batch' . \"\\n\" noenhanced"), 1u);
  EXPECT_EQ(times(figure.commands, "set key title 'capacity'"), 1u);
  for (const char* value : {"'1 MiB'", "'2 MiB'", "'3 MiB'"})
    EXPECT_EQ(times(figure.commands, std::string("title ") + value), 1u) << value;
}

TEST(SweepFigure, MoreLinesThanColoursAreAHeatMap) {
  EXPECT_EQ(times(sweep_figure(swept_grid(9, 8), {}).commands, "boxxyerror"), 0u);
  const SweepFigure figure = sweep_figure(swept_grid(20, 9), {});
  EXPECT_EQ(times(figure.commands, "boxxyerror"), 1u);
  // 0.1 to 0.298 s, whatever their intervals.
  EXPECT_EQ(times(figure.commands, "set cbrange [100:298]"), 1u);
  // At most seven ticks, at round values.
  EXPECT_EQ(times(figure.commands, "set xtics ('5' 5, '10' 10, '15' 15, '20' 20)"), 1u);
}

TEST(SweepFigure, AThirdAxisHasPanels) {
  const SweepFigure figure = sweep_figure(swept_grid(5, 4, 2), {});
  EXPECT_EQ(times(figure.commands, "set multiplot layout 1,2"), 1u);
  EXPECT_EQ(times(figure.commands, "set title 'aggregation t0'"), 1u);
  EXPECT_EQ(times(figure.commands, "\nplot "), 2u);
}

/// Two files, three batches and five capacities: files are lines though an axis with more values is
/// beside them, and batches, which have fewer values than capacities, are panels.
TEST(SweepFigure, FilesAreLines) {
  std::vector<ResultRow> rows;
  for (const char* file : {"one.jsonl", "two.jsonl"}) {
    for (ResultRow& row : swept_grid(3, 5)) {
      row.file = file;
      rows.push_back(row);
    }
  }
  const SweepFigure three = sweep_figure(rows, {});
  EXPECT_EQ(times(three.commands, "set title 'batch "), 3u) << three.commands;
  for (const char* part : {"set key title 'experiment'", "set xlabel 'capacity'", "title 'one'"})
    EXPECT_EQ(times(three.commands, part), 3u) << part;
  // Of one capacity: five files over three batches.
  rows.clear();
  for (int i = 0; i < 5; ++i) {
    for (ResultRow& row : swept_grid(3, 1)) {
      row.file = fmt::format("{}.jsonl", i);
      rows.push_back(row);
    }
  }
  const SweepFigure two = sweep_figure(rows, {});
  EXPECT_EQ(times(two.commands, "set key title 'experiment'"), 1u);
  EXPECT_EQ(times(two.commands, "set xlabel 'batch'"), 1u);
}

TEST(SweepFigure, RefusesMorePanelsThanCanBeToldApart) {
  EXPECT_EQ(message_of<InputError>([] { sweep_figure(swept_grid(20, 20, 13), {}); }),
            "/strategy/aggregation/type has 13 values, expected at most 12 panels; --where "
            "/strategy/aggregation/type=VALUE takes one");
}

}  // namespace
}  // namespace steptime
