// What is shown of a sweep's rows; the whole texts are in tests/sim/command/verb_sweep_test.cpp.
#include "sim/sweeps/table.h"

#include "sim/experiment/result_text.h"
#include "tests/support/swept.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(SweepTable, HasTheColumnsThatSomePointHasAndNumbersFailures) {
  const TinyFolder folder;
  const Sweep sweep = sweep_of(folder, R"({"/strategy/schedule/type": ["wfbp", "no", "none"]})");
  SweepTable table(sweep);
  EXPECT_EQ(table.text(), "schedule\n--------\n");
  table.add(Json::parse(R"({"point": 0, "params": {}, "step_time_s": 0.044, "exposed_comm_s": 0,
      "messages": 0, "throughput_samples_per_s": 0, "speedup": 0, "scaling_efficiency": 0})"));
  table.add(Json{{"point", 1}, {"error", "same"}});
  table.add(Json{{"point", 2}, {"error", "same"}});
  EXPECT_EQ(table.text(),
            "schedule  step ms  exposed ms  messages  samples/s  speedup  efficiency %  error\n"
            "--------  -------  ----------  --------  ---------  -------  ------------  -----\n"
            "wfbp       44.000       0.000         0        0.0     0.00           0.0\n"
            "no                                                                         [1]\n"
            "none                                                                       [1]\n"
            "\n[1] same\n");
}

TEST(SweepTable, ShowsWaitsForTheInputThatAreThereAndMemory) {
  const TinyFolder folder;
  const Sweep sweep = sweep_of(folder, R"({"/run/seed": [1, 2]})");
  const auto text = [&](double first, double second) {
    SweepTable table(sweep);
    table.add(Json{{"point", 0}, {"exposed_input_s", first}, {"memory_bytes", 2'345'000'000}});
    table.add(Json{{"point", 1}, {"exposed_input_s", second}, {"memory_bytes", 16e9}});
    return table.text();
  };
  EXPECT_EQ(text(0, 0.0125),
            "seed  input ms  memory GB\n"
            "----  --------  ---------\n"
            "   1     0.000       2.35\n"
            "   2    12.500      16.00\n");
  EXPECT_EQ(text(0, 0),
            "seed  memory GB\n"
            "----  ---------\n"
            "   1       2.35\n"
            "   2      16.00\n");
}

TEST(SweepTable, SaysWhatDoesNotFitWhereSomethingDoesNot) {
  const TinyFolder folder;
  const Sweep sweep = sweep_of(folder, R"({"/run/seed": [1, 2]})");
  const auto text = [&](bool second) {
    SweepTable table(sweep);
    table.add(Json{{"point", 0}, {"memory_bytes", 16e9}, {"fits", true}});
    table.add(Json{{"point", 1}, {"memory_bytes", 96e9}, {"fits", second}});
    return table.text();
  };
  EXPECT_EQ(text(false),
            "seed  memory GB  fits\n"
            "----  ---------  ----\n"
            "   1      16.00  yes\n"
            "   2      96.00  no\n");
  EXPECT_EQ(text(true),
            "seed  memory GB\n"
            "----  ---------\n"
            "   1      16.00\n"
            "   2      96.00\n");
}

TEST(SweepCsv, HasACellForEveryColumnAndOneLineForAnError) {
  const TinyFolder folder;
  const Sweep sweep = sweep_of(folder, R"({"/strategy/schedule": [{"type": "wfbp"}]})");
  const std::vector<std::string> head = sweep_csv_head(sweep);
  EXPECT_EQ(head[1], "/strategy/schedule");
  EXPECT_EQ(head.back(), "error");
  const auto good = sweep_csv_cells(
      sweep, Json{{"point", 0}, {"step_time_s", 0.25}, {"step_time_interval_s", {0.125, 0.5}}});
  const auto low = std::find(head.begin(), head.end(), "step_time_low_s") - head.begin();
  EXPECT_EQ(good[static_cast<std::size_t>(low)], "0.125");
  EXPECT_EQ(good[static_cast<std::size_t>(low) + 1], "0.5");
  EXPECT_EQ(good.size(), head.size());
  EXPECT_EQ(good[1], "wfbp");
  EXPECT_EQ(good[2], "0.25");
  const auto bad =
      sweep_csv_cells(sweep, Json{{"point", 0}, {"error", "deadlock:\n  rank 0\n  rank 1"}});
  EXPECT_EQ(bad.size(), head.size());
  EXPECT_EQ(bad.back(), "deadlock: rank 0; rank 1");
}

}  // namespace
}  // namespace steptime
