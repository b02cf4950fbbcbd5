// Does every published figure under configs/papers still come out within its tolerance? A miss must
// have its reason on record, and a reason must belong to a miss.
#include "sim/config/data_dir.h"
#include "sim/evidence/claims_table.h"
#include "sim/evidence/record_table.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Claims, StayWithinTheirToleranceOrSayWhyNot) {
  const std::vector<ClaimRow> rows = reproduce("");
  ASSERT_FALSE(rows.empty());
  for (const ClaimRow& row : rows) {
    EXPECT_EQ(row.ok, row.reason.empty())
        << row.config << " " << row.id << " (" << row.quantity << "): published " << row.published
        << ", simulated " << row.simulated << ", reason \"" << row.reason << "\"";
    EXPECT_FALSE(row.inputs.empty()) << row.id;
    EXPECT_FALSE(row.kind == "fitted" && row.fitted.empty())
        << row.id << " is fitted and does not say what was";
  }
  std::cout << claims_table(rows);
}

// After a change that moves a claim: steptime reproduce --record --format jsonl >
// traces/record.jsonl
TEST(Record, IsThatOfTheClaims) {
  std::vector<RecordRow> rows;
  for (const RecordedStep& step : recorded_steps(""))
    rows.push_back(step.row);
  EXPECT_EQ(record_text(rows), read_file((data_dir() / "traces" / "record.jsonl").string()));
}

// Each interval by rows of other testbeds only.
TEST(Record, IntervalsHoldNineInTenMeasurements) {
  const std::vector<RecordedStep> steps = recorded_steps("");
  int within = 0;
  std::vector<double> widths;
  for (const RecordedStep& step : steps) {
    const Assessment a = TrackRecord::shipped().assess_without(step.row.testbed, step.prediction);
    const double published = step.prediction.step_s * (1 + step.row.error_pct / 100);
    const bool holds = a.step_s.low <= published && published <= a.step_s.high;
    within += holds ? 1 : 0;
    widths.push_back((a.step_s.high - a.step_s.low) / step.prediction.step_s);
    EXPECT_TRUE(holds || !a.domain.is_validated() || std::abs(step.row.error_pct) <= 20)
        << step.row.id << " " << step.row.error_pct;
  }
  EXPECT_GE(within, 0.9 * static_cast<double>(steps.size()));
  std::nth_element(widths.begin(), widths.begin() + std::ssize(widths) / 2, widths.end());
  EXPECT_LE(widths[widths.size() / 2], 0.3);
  std::cout << record_table(steps);
}

// 004 section V.C, from the same two runs: the ratios follow from the step times that the table of
// the quickstart prints, 704.376 / 407.765 = 1.727 and 550.055 / 407.765 = 1.349.
TEST(Claims, RatiosAreThoseOfTheStepTimes) {
  for (const ClaimRow& row : reproduce("S4-11")) {
    EXPECT_NEAR(row.simulated.get<double>(), 704.376 / 407.765, 1e-4);
  }
  for (const ClaimRow& row : reproduce("S4-12")) {
    EXPECT_NEAR(row.simulated.get<double>(), 550.055 / 407.765, 1e-4);
  }
}

}  // namespace
}  // namespace steptime
