// Which points a figure has, and what varies among them.
#include "sim/drawing/figure_points.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"
#include "tests/support/swept_rows.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(FigurePoints, AreChosenByTheirValues) {
  const std::vector<ResultRow> rows = swept_grid(4, 3);
  EXPECT_EQ(
      figure_points(rows, {.where = {{"/strategy/schedule/capacity", "2 MiB"}}}).points.size(), 4u);
  EXPECT_EQ(message_of<InputError>([&] {
              figure_points(rows, {.where = {{"/x", "1"}}});
            }),
            "--where: no point has these values");
}

TEST(FigurePoints, ThoseThatFailedAreCountedAndLeftOut) {
  std::vector<ResultRow> rows = swept_grid(3, 1);
  rows[1] = failed_row(rows[1].figures["params"], "too large");
  const FigurePoints found = figure_points(rows, {});
  EXPECT_EQ(found.points.size(), 2u);
  EXPECT_EQ(found.left_out, "1 of 3 points failed, as: too large");
  rows[2] = failed_row(rows[2].figures["params"], "too\nslow");
  EXPECT_EQ(figure_points(rows, {}).left_out, "2 of 3 points failed, the first: too large");
  // Of 5 one failed, one reached the target and three did not.
  rows = swept_grid(5, 1);
  rows[0] = failed_row(rows[0].figures["params"], "too large");
  rows[1].figures["time_to_target_s"] = 60;
  EXPECT_EQ(figure_points(rows, {.key = "time_to_target_s"}).left_out,
            "1 of 5 points failed, as: too large; 3 of 5 points have no time_to_target_s");
  EXPECT_EQ(figure_points(swept_grid(5, 1), {}).left_out, "");
}

TEST(FigurePoints, WhereAllFailedTheFirstSaysWhy) {
  std::vector<ResultRow> rows;
  for (int i = 0; i < 3; ++i)
    rows.push_back(failed_row(Json{{"/workload/batch", i}}, fmt::format("too large: {}", i)));
  EXPECT_EQ(message_of<InputError>([&] { figure_points(rows, {}); }),
            "all 3 points failed, the first: too large: 0");
  rows.resize(1);
  EXPECT_EQ(message_of<InputError>([&] { figure_points(rows, {}); }),
            "the only point failed, as: too large: 0");
}

/// Batches of 1 to 5 and two capacities: of 2 MiB all points failed, and so did batches 1, 3 and 5.
TEST(FigurePoints, AxesSpanWhatIsThere) {
  std::vector<ResultRow> rows = swept_grid(5, 2);
  for (ResultRow& row : rows) {
    const Json params = row.figures["params"];
    const bool fails = params["/workload/batch"].get<int>() % 2 == 1 ||
                       params["/strategy/schedule/capacity"] == "2 MiB";
    if (fails) row = failed_row(params, "too large");
  }
  const FigurePoints found = figure_points(rows, {});
  ASSERT_EQ(found.axes.size(), 1u);
  EXPECT_EQ(found.axes[0].places, (std::vector<double>{2, 4}));
  // Batch 3 would be between them, at no value of the axis.
  EXPECT_EQ(found.gaps.size(), 8u);
  EXPECT_EQ(found.gaps[3].at, (std::vector<std::size_t>{2}));
  EXPECT_EQ(found.gaps[3].places, (std::vector<double>{3}));
}

/// Two sweeps over the same batches: a point is told apart by its file, whose name is that of the
/// experiment.
TEST(FigurePoints, OfSeveralFilesVaryWithTheFile) {
  std::vector<ResultRow> rows;
  for (const char* file : {"r/one.jsonl", "r/two.jsonl"}) {
    for (const int batch : {8, 16})
      rows.push_back(swept_row(Json{{"/workload/batch", batch}}, 0.1, file));
  }
  const FigurePoints found = figure_points(rows, {});
  ASSERT_EQ(found.axes.size(), 2u);
  EXPECT_EQ(found.axes[1].name, "experiment");
  EXPECT_EQ(found.axes[1].labels, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(found.points[3].at, (std::vector<std::size_t>{1, 1}));
}

/// As sweeps do, whatever file they are from.
TEST(FigurePoints, OfSeveralFilesOverNodesAreSpeedups) {
  std::vector<ResultRow> rows;
  for (const char* file : {"one.jsonl", "two.jsonl"}) {
    for (const int nodes : {2, 4})
      rows.push_back(swept_row(Json{{"/cluster/nodes", nodes}}, 0.1, file));
  }
  EXPECT_EQ(figure_points(rows, {}).key, "speedup");
}

TEST(FigurePoints, RefusesWhatHasNoFigure) {
  EXPECT_EQ(message_of<InputError>([] {
              figure_points(
                  std::vector{swept_row(Json{{"/a", 1}}, 1), swept_row(Json{{"/a", 1}}, 2)}, {});
            }),
            "expected results that differ in a swept value");
  EXPECT_EQ(message_of<InputError>([] { figure_points(swept_grid(2, 1), {.key = "step_tiem_s"}); }),
            "--key: unknown \"step_tiem_s\" (did you mean \"step_time_s\"?); steptime list result "
            "prints what there is");
  EXPECT_EQ(message_of<InputError>([] { figure_points(swept_grid(2, 1), {.key = "foo"}); }),
            "--key: unknown \"foo\"; steptime list result prints what there is");
  EXPECT_EQ(
      message_of<InputError>([] { figure_points(swept_grid(2, 1), {.key = "epoch_time_s"}); }),
      "all 2 points have no epoch_time_s");
  std::vector<ResultRow> four;
  for (int i = 0; i < 2; ++i)
    four.push_back(swept_row(Json{{"/a", i}, {"/b", i}, {"/c", i}, {"/d", i}}, 1));
  EXPECT_EQ(
      message_of<InputError>([&] { figure_points(four, {}); }),
      "4 values differ (/a, /b, /c, /d), expected at most three; --where /pointer=value takes "
      "the points with one value");
}

/// Of one file the result is named that lacks what others have, of several the file.
TEST(FigurePoints, RefusesResultsOfSeveralSortsOfSweeps) {
  std::vector<ResultRow> rows{swept_row(Json{{"/a", 1}}, 1, "x.jsonl"),
                              swept_row(Json{{"/a", 2}}, 1, "x.jsonl"),
                              swept_row(Json{{"/b", 1}}, 1, "x.jsonl")};
  rows[2].label = "b=1";
  EXPECT_EQ(message_of<InputError>([&] { figure_points(rows, {}); }),
            "b=1: has no /a, as others have: expected results of one sweep");
  rows[2].file = "y.jsonl";
  EXPECT_EQ(message_of<InputError>([&] { figure_points(rows, {}); }),
            "y.jsonl: has no /a, as others have: expected results of one sweep");
  // Though more values differ than a figure has axes.
  rows[2].figures["params"] = Json{{"/b", 1}, {"/c", 1}, {"/d", 1}};
  rows.push_back(swept_row(Json{{"/b", 2}, {"/c", 2}, {"/d", 2}}, 1, "y.jsonl"));
  EXPECT_EQ(message_of<InputError>([&] { figure_points(rows, {}); }),
            "x.jsonl: has no /b, as others have: expected results of one sweep");
}

}  // namespace
}  // namespace steptime
