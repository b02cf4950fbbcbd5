// Does every published figure under configs/papers still come out within its tolerance? A miss must
// have its reason on record, and a reason must belong to a miss.
#include "sim/config/data_dir.h"
#include "sim/evidence/claims_table.h"
#include "sim/evidence/record_table.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
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

/// Share of the steps that lie within their interval.
double within(const std::vector<AssessedStep>& steps) {
  const auto n = std::count_if(steps.begin(), steps.end(),
                               [](const AssessedStep& step) { return step.is_within(); });
  return static_cast<double>(n) / static_cast<double>(steps.size());
}

/// Of the intervals.
double median_width(const std::vector<AssessedStep>& steps) {
  std::vector<double> widths;
  for (const AssessedStep& step : steps)
    widths.push_back(step.width());
  std::nth_element(widths.begin(), widths.begin() + std::ssize(widths) / 2, widths.end());
  return widths[widths.size() / 2];
}

// Each interval by rows of other testbeds only, each step by its first prediction, from the
// measured time of one GPU where the source has it.
TEST(Record, IntervalsHoldNineInTenMeasurements) {
  const std::vector<RecordedStep> steps = recorded_steps("");
  std::set<std::pair<std::string, std::string>> known;
  std::vector<AssessedStep> best;
  std::vector<AssessedStep> validated;
  std::vector<std::string> far;  // more than 20 % off, and validated
  // With what is predicted from a device's time, too.
  std::map<std::string, std::vector<AssessedStep>> groups;
  for (const AssessedStep& step : assessed(steps)) {
    const RecordRow& row = step.step.row;
    const bool reduces = row.kind[Attribute::kSchedule].text().starts_with("all-reduce");
    groups["all"].push_back(step);
    groups[reduces ? "all-reduce" : "servers"].push_back(step);
    groups[row.kind.text(Attribute::kNodes)].push_back(step);
    if (step.by_others.domain.is_validated()) groups["validated"].push_back(step);
    const bool is_far = std::abs(row.error_pct) > 20;
    if (is_far && step.by_others.domain.is_validated()) far.push_back(row.id);
    if (!known.insert({row.testbed, row.id}).second) continue;
    best.push_back(step);
    if (step.by_others.domain.is_validated()) validated.push_back(step);
  }
  // 4 and 8 nodes at 54 and 60 % of a single node's rate a GPU, where the submitter's 16 have 85.
  const std::string hpe = "MLPERF-v2.1-HPE-HPE-ProLiant-XL675d-Gen10-Plus_A100-SXM-80GB_";
  EXPECT_EQ(far, (std::vector<std::string>{hpe + "4N_mxnet-resnet", hpe + "8N_mxnet-resnet"}));
  ASSERT_FALSE(validated.empty());
  EXPECT_GE(within(validated), 0.93);
  EXPECT_GE(within(best), 0.9);
  EXPECT_LE(within(best), 0.995);
  EXPECT_LE(median_width(validated), 0.45);
  EXPECT_LE(median_width(best), 0.65);
  EXPECT_EQ(groups.size(), 6U);
  for (const auto& [name, group] : groups)
    EXPECT_GE(within(group), name == "validated" ? 0.93 : 0.9) << name;
  EXPECT_LE(within(groups["all"]), 0.995);
  EXPECT_LE(median_width(groups["all"]), 0.65);
  EXPECT_LE(median_width(groups["validated"]), 0.45);
  std::cout << record_table(steps);
}

// After a change that moves a table: steptime reproduce --collectives --format jsonl >
// traces/collectives.jsonl
TEST(Record, OfCollectivesIsThatOfTheClaims) {
  EXPECT_EQ(collective_record_text(recorded_tables("")),
            read_file((data_dir() / "traces" / "collectives.jsonl").string()));
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
