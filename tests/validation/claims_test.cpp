// Does every published figure under configs/papers still come out within its tolerance? A miss must
// have its reason on record, and a reason must belong to a miss.
#include "sim/evidence/claims_table.h"

#include <iostream>
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
