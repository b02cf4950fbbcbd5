#include "sim/sweeps/run_sweep.h"

#include "tests/support/swept.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

struct Rows {
  std::string text;
  std::vector<std::int64_t> points;
  std::int64_t failed = 0;
};

Rows rows_of(const Sweep& sweep, SweepOptions options) {
  Rows rows;
  options.on_row = [&](const SweepRow& row, std::string_view line) {
    rows.points.push_back(row.point);
    rows.text += line;
  };
  rows.failed = run_sweep(sweep, options);
  return rows;
}

TEST(RunSweep, RowsAreTheSameForAnyNumberOfThreads) {
  const TinyFolder folder;
  const Sweep sweep = sweep_of(folder, R"({"/cluster/nodes": {"from": 0, "to": 99, "plus": 1},
                           "/strategy/schedule/type": ["wfbp", "mg-wfbp", "optimal", "nothing"]})");
  const Rows one = rows_of(sweep, {.threads = 1});
  ASSERT_EQ(one.points.size(), 400U);
  for (std::size_t i = 0; i < one.points.size(); ++i)
    EXPECT_EQ(one.points[i], static_cast<std::int64_t>(i));
  // 4 points with 0 nodes, and "nothing" for each of the 99 others
  EXPECT_EQ(one.failed, 103);
  for (const int threads : {2, 3, 8}) {
    const Rows many = rows_of(sweep, {.threads = threads});
    EXPECT_EQ(many.text, one.text) << threads;
    EXPECT_EQ(many.failed, one.failed) << threads;
  }
}

TEST(RunSweep, ProgressEndsWithAllPoints) {
  const TinyFolder folder;
  const Sweep sweep = sweep_of(folder, R"({"/run/seed": {"from": 1, "to": 50, "plus": 1}})");
  std::vector<std::int64_t> done;
  SweepOptions options{.threads = 2};
  options.on_progress = [&](std::int64_t n, double) { done.push_back(n); };
  run_sweep(sweep, options);
  ASSERT_FALSE(done.empty());
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), 50);
}

TEST(RunSweep, WhatAStopLeavesIsAPrefix) {
  const TinyFolder folder;
  const Sweep sweep = sweep_of(folder, R"({"/run/seed": {"from": 1, "to": 5000, "plus": 1}})");
  const Rows whole = rows_of(sweep, {.threads = 1});
  for (const int threads : {1, 2}) {
    std::atomic<bool> stop{false};
    Rows cut;
    SweepOptions options{.threads = threads, .stop = [&] { return stop.load(); }};
    options.on_row = [&](const SweepRow& row, std::string_view line) {
      cut.points.push_back(row.point);
      cut.text += line;
      if (row.point == 3) stop = true;
    };
    run_sweep(sweep, options);
    EXPECT_GE(cut.points.size(), 4U);
    EXPECT_LT(cut.points.size(), whole.points.size());
    EXPECT_EQ(cut.text, whole.text.substr(0, cut.text.size()));
  }
}

}  // namespace
}  // namespace steptime
