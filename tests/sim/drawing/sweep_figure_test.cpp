// What a figure shows of a sweep's results: which axis goes where, by how many values each has.
#include "sim/drawing/sweep_figure.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

ResultRow row(const Json& params, double step_s) {
  return {params.dump(), "",
          Json{{"params", params},
               {"step_time_s", step_s},
               {"step_time_interval_s", {step_s * 0.9, step_s * 1.2}},
               {"speedup", 2},
               {"scaling_efficiency", 0.25},
               {"workers", 64}}};
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

std::vector<ResultRow> grid(int x, int y, int z = 1) {
  std::vector<ResultRow> rows;
  for (int i = 0; i < x; ++i) {
    for (int j = 0; j < y; ++j) {
      for (int k = 0; k < z; ++k) {
        rows.push_back(row(Json{{"/workload/batch", i + 1},
                                {"/strategy/schedule/capacity", fmt::format("{} MiB", j + 1)},
                                {"/strategy/aggregation/type", fmt::format("t{}", k)}},
                           0.1 + 0.01 * i + 0.001 * j));
      }
    }
  }
  return rows;
}

TEST(SweepFigure, AnAxisOfFewPointsHasBarsOfManyABand) {
  const SweepFigure few = sweep_figure(grid(9, 1), {});
  EXPECT_EQ(times(few.commands, "with yerrorbars"), 1u);
  EXPECT_EQ(times(few.commands, "with filledcurves"), 0u);
  const SweepFigure many = sweep_figure(grid(10, 1), {});
  EXPECT_EQ(times(many.commands, "with yerrorbars"), 0u);
  EXPECT_EQ(times(many.commands, "with filledcurves"), 1u);
  EXPECT_EQ(many.points, 10u);
  // 0.1 s is 100 ms, with its interval.
  EXPECT_EQ(times(many.commands, "\n1 100 90 120\n"), 1u);
}

TEST(SweepFigure, TheAxisWithFewerValuesTellsLinesApart) {
  const SweepFigure figure = sweep_figure(grid(12, 3), {});
  // A line below the axis' name keeps the legend off it.
  EXPECT_EQ(times(figure.commands, "set xlabel 'batch' . \"\\n\" noenhanced"), 1u);
  EXPECT_EQ(times(figure.commands, "set key title 'capacity'"), 1u);
  for (const char* value : {"'1 MiB'", "'2 MiB'", "'3 MiB'"})
    EXPECT_EQ(times(figure.commands, std::string("title ") + value), 1u) << value;
}

/// A legend of a picture has 64 bytes for a name, that of a panel 36, and cuts no character in two.
TEST(SweepFigure, LongNamesKeepTheirBeginningAndTheirEnd) {
  const auto commands = [](const std::string& middle, int panels) {
    std::vector<ResultRow> rows;
    for (int k = 0; k < panels; ++k) {
      for (int i = 0; i < 6; ++i) {
        for (const char* end : {"first", "second", "third"}) {
          rows.push_back(row(Json{{"/cluster/nodes", i + 1},
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

TEST(SweepFigure, MoreLinesThanColoursAreAHeatMap) {
  EXPECT_EQ(times(sweep_figure(grid(9, 8), {}).commands, "boxxyerror"), 0u);
  const SweepFigure figure = sweep_figure(grid(20, 9), {});
  EXPECT_EQ(times(figure.commands, "boxxyerror"), 1u);
  // 0.1 to 0.298 s, whatever their intervals.
  EXPECT_EQ(times(figure.commands, "set cbrange [100:298]"), 1u);
  // At most seven ticks, at round values.
  EXPECT_EQ(times(figure.commands, "set xtics ('5' 5, '10' 10, '15' 15, '20' 20)"), 1u);
}

TEST(SweepFigure, LabelsOfTicksAreShortAndApart) {
  std::vector<ResultRow> rows;
  // 1, 2, 4, ..., 4096 Gbit/s and a little: three powers of ten lie between the first and the last.
  for (int i = 0; i <= 12; ++i)
    rows.push_back(row(Json{{"/b", fmt::format("{}.0000001 Gbps", 1 << i)}}, 1));
  const std::string commands = sweep_figure(rows, {}).commands;
  EXPECT_EQ(
      times(commands,
            "set xtics ('10 Gbps' 1250000000, '100 Gbps' 12500000000, '1 Tbps' 125000000000)"),
      1u)
      << commands;
}

/// Its one place with the interval around it, whatever was swept.
TEST(SweepFigure, ASinglePointIsDrawn) {
  const SweepFigure figure =
      sweep_figure(std::vector{row(Json{{"/cluster/nodes", 8}, {"/workload/batch", 64}}, 0.1)}, {});
  EXPECT_EQ(figure.points, 1u);
  EXPECT_EQ(times(figure.commands, "set xlabel 'nodes, batch'"), 1u) << figure.commands;
  EXPECT_EQ(times(figure.commands, "set xtics ('8, 64' 1)"), 1u);
  EXPECT_EQ(times(figure.commands, "set xrange [0:2]"), 1u);
  EXPECT_EQ(times(figure.commands, "\n1 100 90 120\n"), 1u);
  EXPECT_EQ(times(figure.commands, "with yerrorbars"), 1u);
  // The one point has no line of ideal ones.
  EXPECT_EQ(
      times(sweep_figure(std::vector{row(Json{{"/cluster/nodes", 8}}, 0.1)}, {.key = "speedup"})
                .commands,
            "ideal"),
      0u);
}

TEST(SweepFigure, AThirdAxisHasPanels) {
  const SweepFigure figure = sweep_figure(grid(5, 4, 2), {});
  EXPECT_EQ(times(figure.commands, "set multiplot layout 1,2"), 1u);
  EXPECT_EQ(times(figure.commands, "set title 'aggregation t0'"), 1u);
  EXPECT_EQ(times(figure.commands, "\nplot "), 2u);
}

/// A colour is the same value in each panel: 0.1 to 0.188 s are in all three.
TEST(SweepFigure, MapsOfSeveralPanelsShareTheirColours) {
  const SweepFigure figure = sweep_figure(grid(9, 9, 3), {});
  EXPECT_EQ(times(figure.commands, "set cbrange [100:188]"), 3u);
  EXPECT_EQ(times(figure.commands, "set logscale cb"), 0u);
  // With 400 ms for one point they are a factor of four apart.
  std::vector<ResultRow> rows = grid(9, 9, 3);
  rows.back().figures["step_time_s"] = 0.4;
  EXPECT_EQ(times(sweep_figure(rows, {}).commands,
                  "set logscale cb\nset cbtics ('100' 100, '150' 150, '200' 200, '300' 300)"),
            3u);
}

TEST(SweepFigure, OverNodesItIsTheSpeedupBesideTheIdealOne) {
  std::vector<ResultRow> rows;
  for (const int nodes : {4, 64})
    rows.push_back(row(Json{{"/cluster/nodes", nodes}}, 1));
  const SweepFigure figure = sweep_figure(rows, {});
  EXPECT_EQ(times(figure.commands, "set ylabel 'speedup"), 1u);
  EXPECT_EQ(times(figure.commands, "title 'ideal'"), 1u);
  // 64 GPUs are 2 / 0.25 replicas.
  EXPECT_EQ(times(figure.commands, "4 8\n64 8\n"), 1u);
  EXPECT_EQ(times(figure.commands, "set logscale x 2"), 1u);  // a factor of 8 or more
}

TEST(SweepFigure, PointsAreChosenByTheirValues) {
  const SweepFigure figure =
      sweep_figure(grid(4, 3), {.where = {{"/strategy/schedule/capacity", "2 MiB"}}});
  EXPECT_EQ(figure.points, 4u);
  EXPECT_EQ(message_of<InputError>([] {
              sweep_figure(grid(2, 2), {.where = {{"/x", "1"}}});
            }),
            "--where: no point has these values");
}

TEST(SweepFigure, FailedPointsAreCountedAndLeftOut) {
  std::vector<ResultRow> rows = grid(3, 1);
  rows[1].figures = Json{{"params", rows[1].figures["params"]}, {"error", "too large"}};
  const SweepFigure figure = sweep_figure(rows, {});
  EXPECT_EQ(figure.points, 2u);
  EXPECT_EQ(figure.left_out, 1u);
}

TEST(SweepFigure, RefusesWhatCannotBeShown) {
  const std::string mixed = message_of<InputError>([] {
    sweep_figure(
        std::vector{row(Json{{"/a", 1}}, 1), row(Json{{"/a", 2}}, 1), row(Json{{"/b", 1}}, 1)}, {});
  });
  EXPECT_TRUE(mixed.ends_with(": has no /a, as others have: expected results of one sweep"))
      << mixed;
  EXPECT_EQ(message_of<InputError>([] {
              sweep_figure(std::vector{row(Json{{"/a", 1}}, 1), row(Json{{"/a", 1}}, 2)}, {});
            }),
            "expected results that differ in a swept value");
  EXPECT_EQ(message_of<InputError>([] {
              sweep_figure(grid(2, 1), {.key = "step_tiem_s"});
            }).substr(0, 59),
            "--key: unknown \"step_tiem_s\" (did you mean \"step_time_s\"?);");
  EXPECT_EQ(message_of<InputError>([] { sweep_figure(grid(2, 1), {.key = "epoch_time_s"}); }),
            "--key: no point has \"epoch_time_s\"");
  EXPECT_EQ(message_of<InputError>([] { sweep_figure(grid(20, 20, 13), {}); }),
            "/strategy/aggregation/type has 13 values, expected at most 12 panels; --where "
            "/strategy/aggregation/type=VALUE takes one");
  std::vector<ResultRow> four;
  for (int i = 0; i < 2; ++i)
    four.push_back(row(Json{{"/a", i}, {"/b", i}, {"/c", i}, {"/d", i}}, 1));
  EXPECT_EQ(
      message_of<InputError>([&] { sweep_figure(four, {}); }),
      "4 values differ (/a, /b, /c, /d), expected at most three; --where /pointer=value takes "
      "the points with one value");
}

}  // namespace
}  // namespace steptime
