// How lines and maps of a panel are drawn.
#include "sim/drawing/figure_panel.h"

#include "sim/drawing/sweep_figure.h"
#include "tests/support/swept_rows.h"

#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(FigurePanel, AnAxisOfFewPointsHasBarsOfManyABand) {
  const SweepFigure few = sweep_figure(swept_grid(9, 1), {});
  EXPECT_EQ(times(few.commands, "with yerrorbars"), 1u);
  EXPECT_EQ(times(few.commands, "with filledcurves"), 0u);
  const SweepFigure many = sweep_figure(swept_grid(10, 1), {});
  EXPECT_EQ(times(many.commands, "with yerrorbars"), 0u);
  EXPECT_EQ(times(many.commands, "with filledcurves"), 1u);
  EXPECT_EQ(many.points, 10u);
  // 0.1 s is 100 ms, with its interval.
  EXPECT_EQ(times(many.commands, "\n1 100 90 120\n"), 1u);
}

/// A legend of a picture has 64 bytes for a name, that of a panel 36, and cuts no character in two.
TEST(FigurePanel, LongNamesKeepTheirBeginningAndTheirEnd) {
  const auto commands = [](const std::string& middle, int panels) {
    std::vector<ResultRow> rows;
    for (int k = 0; k < panels; ++k) {
      for (int i = 0; i < 6; ++i) {
        for (const char* end : {"first", "second", "third"}) {
          rows.push_back(swept_row(Json{{"/cluster/nodes", i + 1},
                                        {"/strategy/schedule", "begin" + middle + end},
                                        {"/workload/batch", k}},
                                   0.1));
        }
      }
    }
    return sweep_figure(rows, {}).commands;
  };
  // 5 + 54 + 5 = 64 bytes stay; of "second" it is one too many: 32, dots, 29.
  const std::string wide = commands(std::string(54, '-'), 1);
  EXPECT_EQ(times(wide, "title 'begin" + std::string(54, '-') + "first'"), 1u) << wide;
  EXPECT_EQ(
      times(wide, "title 'begin" + std::string(27, '-') + "..." + std::string(23, '-') + "second'"),
      1u)
      << wide;
  // 18, dots, 15 in each of two panels.
  const std::string narrow = commands(std::string(54, '-'), 2);
  EXPECT_EQ(times(narrow,
                  "title 'begin" + std::string(13, '-') + "..." + std::string(10, '-') + "first'"),
            2u)
      << narrow;
  // Characters of two bytes: 32 is inside one, 5 + 2 x 13; from the end 29 is, 5 + 2 x 12.
  std::string accents;
  for (int i = 0; i < 40; ++i)
    accents += "\u00e9";
  const std::string cut = commands(accents, 1);
  EXPECT_EQ(
      times(cut, "title 'begin" + accents.substr(0, 26) + "..." + accents.substr(0, 24) + "first'"),
      1u)
      << cut;
}

TEST(FigurePanel, LabelsOfTicksAreShortAndApart) {
  std::vector<ResultRow> rows;
  // 1, 2, 4, ..., 4096 Gbit/s and a little: three powers of ten lie between the first and the last.
  for (int i = 0; i <= 12; ++i)
    rows.push_back(swept_row(Json{{"/b", fmt::format("{}.0000001 Gbps", 1 << i)}}, 1));
  const std::string commands = sweep_figure(rows, {}).commands;
  EXPECT_EQ(
      times(commands,
            "set xtics ('10 Gbps' 1250000000, '100 Gbps' 12500000000, '1 Tbps' 125000000000)"),
      1u)
      << commands;
}

TEST(FigurePanel, OverNodesItIsTheSpeedupBesideTheIdealOne) {
  std::vector<ResultRow> rows;
  for (const int nodes : {4, 64})
    rows.push_back(swept_row(Json{{"/cluster/nodes", nodes}}, 1));
  const SweepFigure figure = sweep_figure(rows, {});
  EXPECT_EQ(times(figure.commands, "set ylabel 'speedup"), 1u);
  EXPECT_EQ(times(figure.commands, "title 'ideal'"), 1u);
  // 64 GPUs are 2 / 0.25 replicas.
  EXPECT_EQ(times(figure.commands, "4 8\n64 8\n"), 1u);
  EXPECT_EQ(times(figure.commands, "set logscale x 2"), 1u);  // a factor of 8 or more
}

/// A colour is the same value in each panel: 0.1 to 0.188 s are in all three.
TEST(FigurePanel, MapsOfSeveralPanelsShareTheirColours) {
  const SweepFigure figure = sweep_figure(swept_grid(9, 9, 3), {});
  EXPECT_EQ(times(figure.commands, "set cbrange [100:188]"), 3u);
  EXPECT_EQ(times(figure.commands, "set logscale cb"), 0u);
  // With 400 ms for one point they are a factor of four apart.
  std::vector<ResultRow> rows = swept_grid(9, 9, 3);
  rows.back().figures["step_time_s"] = 0.4;
  EXPECT_EQ(times(sweep_figure(rows, {}).commands,
                  "set logscale cb\nset cbtics ('100' 100, '150' 150, '200' 200, '300' 300)"),
            3u);
}

/// Batches of 1 to 12, of which 3 and 10 failed: 1 and 2, 4 to 9, 11 and 12.
TEST(FigurePanel, NoLineGoesThroughAMissingPoint) {
  std::vector<ResultRow> rows = swept_grid(12, 1);
  for (const std::size_t missing : {2u, 9u})
    rows[missing] = failed_row(rows[missing].figures["params"], "too large");
  const std::string commands = sweep_figure(rows, {}).commands;
  // 0.1 + 0.01 (batch - 1) s with its interval; gnuplot breaks lines and bands at empty lines.
  EXPECT_EQ(times(commands, "\n2 110 99 132\n\n4 130 117 156\n"), 1u) << commands;
  EXPECT_EQ(times(commands, "\n9 180 162 216\n\n11 200 180 240\n"), 1u) << commands;
  EXPECT_EQ(times(commands, "\n\n"), 2u);
  EXPECT_EQ(times(commands, "with yerrorbars"), 0u);
}

/// Of two lines the one without a value there; the other one goes on.
TEST(FigurePanel, ALineBreaksWhereItsOwnPointHasNoValue) {
  std::vector<ResultRow> rows = swept_grid(4, 2);
  for (ResultRow& row : rows) {
    const Json& params = row.figures["params"];
    const bool reaches =
        params["/workload/batch"] != 3 || params["/strategy/schedule/capacity"] != "2 MiB";
    if (reaches) row.figures["time_to_target_s"] = 60;
  }
  const std::string commands = sweep_figure(rows, {.key = "time_to_target_s"}).commands;
  EXPECT_EQ(times(commands, "\n2 60 60 60\n3 60 60 60\n4 60 60 60\n"), 1u) << commands;
  EXPECT_EQ(times(commands, "\n2 60 60 60\n\n4 60 60 60\n"), 1u) << commands;
}

/// Neither a line nor a band shows a point alone: of 70 points, which have no marks, it has one.
TEST(FigurePanel, APointBetweenTwoGapsIsSeen) {
  std::vector<ResultRow> rows = swept_grid(70, 1);
  for (const std::size_t missing : {30u, 32u})
    rows[missing] = failed_row(rows[missing].figures["params"], "too large");
  const std::string commands = sweep_figure(rows, {}).commands;
  // Batch 32, of 410 ms.
  EXPECT_EQ(times(commands, "<< EOD\n32 410 369 492\nEOD\n"), 1u) << commands;
  EXPECT_EQ(times(commands, "$d1 using 1:2:3:4 with yerrorbars"), 1u);
  EXPECT_EQ(times(commands, "$d1 using 1:2 with points"), 1u);
}

/// Nothing is between two words: as many of them as have a band on an axis of numbers have bars.
TEST(FigurePanel, WordsAreNotJoinedByLines) {
  std::vector<ResultRow> rows;
  for (int i = 0; i < 12; ++i)
    rows.push_back(swept_row(Json{{"/strategy/update", fmt::format("u{}", i)}}, 0.1));
  const std::string commands = sweep_figure(rows, {}).commands;
  EXPECT_EQ(times(commands, "with points"), 1u) << commands;
  EXPECT_EQ(times(commands, "with yerrorbars"), 1u);
  for (const char* style : {"with lines", "with filledcurves"})
    EXPECT_EQ(times(commands, style), 0u) << style;
  // The first and the last word are off the ends of the axis.
  EXPECT_EQ(times(commands, "set xrange [0.4"), 1u);
}

/// Three lines with bars over batches of 1 to 7: 1 % of the axis' length of 6 from one to the next.
TEST(FigurePanel, BarsOfSeveralLinesStandBesideEachOther) {
  const std::string commands = sweep_figure(swept_grid(7, 3), {}).commands;
  // 100 to 102 ms, with 0.9 and 1.2 times as much.
  for (const std::string& row :
       {fmt::format("{:.17g} 100 90 120", 1 - 0.06), std::string("1 101 90.9 121.2"),
        fmt::format("{:.17g} 102 91.8 122.4", 1 + 0.06)})
    EXPECT_EQ(times(commands, "EOD\n" + row), 1u) << row << commands;
  // Bands are seen through each other, and results without intervals hide none.
  EXPECT_EQ(times(sweep_figure(swept_grid(10, 3), {}).commands, "EOD\n1 "), 3u);
  EXPECT_EQ(times(sweep_figure(swept_grid(7, 3), {.key = "workers"}).commands, "EOD\n1 "), 3u);
}

/// Five lines over 0, 1, 10, 25 and 50: 1 % is 0.5, and 0.8 / 5 = 0.16 would keep 0 and 1 apart,
/// but 0.35 of 0.5 is the least. The first line is two shifts to the left.
TEST(FigurePanel, LinesAreShiftedLessWhereNumbersAreNear) {
  std::vector<ResultRow> rows;
  for (const int x : {0, 1, 10, 25, 50}) {
    for (int line = 0; line < 5; ++line)
      rows.push_back(swept_row(Json{{"/x", x}, {"/v", fmt::format("v{}", line)}}, 0.1));
  }
  const std::string commands = sweep_figure(rows, {}).commands;
  EXPECT_EQ(times(commands, fmt::format("EOD\n{:.17g} 100", -2 * 0.35 * 0.5)), 1u) << commands;
  EXPECT_EQ(times(commands, "\n9 100 90 120\n"), 1u) << commands;
  EXPECT_EQ(times(commands, "\n49 100 90 120\n"), 1u);
}

/// 1 % of log(4096), half of it to the left and half to the right. That is less than 0.8 log(2) / 2
/// for each of two lines, which would keep 1 and 2 apart.
TEST(FigurePanel, LinesOnALogarithmicAxisAreShiftedByAFactor) {
  std::vector<ResultRow> rows;
  for (const int nodes : {1, 2, 4096}) {
    for (const char* name : {"a", "b"})
      rows.push_back(swept_row(Json{{"/cluster/nodes", nodes}, {"/s", name}}, 0.1));
  }
  const std::string commands = sweep_figure(rows, {}).commands;
  EXPECT_EQ(times(commands, fmt::format("EOD\n{:.17g} 100", std::exp(-0.01 * std::log(4096.) / 2))),
            1u)
      << commands;
  // All lines stand between the ends of the axis.
  EXPECT_EQ(times(commands, fmt::format("set xrange [{:.17g}:", 1 / 1.15)), 1u);
}

/// Of two words 1 apart, two lines are 0.15 apart, five 0.6 / 5.
TEST(FigurePanel, PointsOfAWordStandBesideEachOther) {
  const auto commands = [](int lines) {
    std::vector<ResultRow> rows;
    for (int i = 0; i <= lines; ++i) {
      for (int k = 0; k < lines; ++k)
        rows.push_back(
            swept_row(Json{{"/w", fmt::format("w{}", i)}, {"/v", fmt::format("v{}", k)}}, 0.1));
    }
    return sweep_figure(rows, {.key = "workers"}).commands;
  };
  EXPECT_EQ(times(commands(2), "EOD\n0.925"), 1u) << commands(2);
  EXPECT_EQ(times(commands(2), "EOD\n1.075"), 1u);
  EXPECT_EQ(times(commands(5), "EOD\n0.88"), 1u) << commands(5);
}

/// Two clusters whose nodes have one GPU and eight: of a number of nodes there are two ideals.
TEST(FigurePanel, NoIdealSpeedupWherePointsOfAPlaceHaveSeveral) {
  std::vector<ResultRow> rows;
  for (const char* file : {"one.jsonl", "eight.jsonl"}) {
    for (const int nodes : {4, 64}) {
      rows.push_back(swept_row(Json{{"/cluster/nodes", nodes}}, 1, file));
      if (rows.back().file == "one.jsonl") rows.back().figures["scaling_efficiency"] = 0.5;
    }
  }
  const std::string commands = sweep_figure(rows, {}).commands;
  EXPECT_EQ(times(commands, "set ylabel 'speedup"), 1u);
  EXPECT_EQ(times(commands, "ideal"), 0u);
}

/// Its one place with the interval around it, whatever was swept.
TEST(FigurePanel, ASinglePointIsDrawn) {
  const SweepFigure figure = sweep_figure(
      std::vector{swept_row(Json{{"/cluster/nodes", 8}, {"/workload/batch", 64}}, 0.1)}, {});
  EXPECT_EQ(figure.points, 1u);
  EXPECT_EQ(times(figure.commands, "set xlabel 'nodes, batch'"), 1u) << figure.commands;
  EXPECT_EQ(times(figure.commands, "set xtics ('8, 64' 1)"), 1u);
  EXPECT_EQ(times(figure.commands, "set xrange [0.4"), 1u);
  EXPECT_EQ(times(figure.commands, "\n1 100 90 120\n"), 1u);
  EXPECT_EQ(times(figure.commands, "with yerrorbars"), 1u);
  // The one point has no line of ideal ones.
  EXPECT_EQ(times(sweep_figure(std::vector{swept_row(Json{{"/cluster/nodes", 8}}, 0.1)},
                               {.key = "speedup"})
                      .commands,
                  "ideal"),
            0u);
}

}  // namespace
}  // namespace steptime
