// Does the table count what lies within the interval that other testbeds give?
#include "sim/evidence/record_table.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// c = 0.1 + 0.4 / 0.8 = 0.6 in all of them.
RecordedStep step(const std::string& testbed, double error_pct) {
  const PredictionKind kind{"all-reduce", "wire", "one node"};
  const Prediction prediction{.kind = std::make_shared<PredictionKind>(kind),
                              .workers = 8,
                              .step_s = 1,
                              .compute_s = 0.8,
                              .comm_busy_s = 0.4};
  return {.row = {.id = testbed,
                  .testbed = testbed,
                  .kind = kind,
                  .workers = 8,
                  .share = prediction.share(),
                  .error_pct = error_pct},
          .prediction = prediction,
          .model = "tiny",
          .config = "x.json"};
}

// Testbed A's rows give B's one an interval up to 1.03 x 1.12 and from 1 / 1.03 on, so that B's
// 1.3 lies beyond; B's one row gives A's none but the floor, which holds the first three of A's.
TEST(RecordTable, CountsWhatLiesWithin) {
  const std::vector<RecordedStep> steps{step("A", 1), step("A", 2), step("A", -2), step("A", 12),
                                        step("B", 30)};
  // Widths: 1.03 - 1 / 1.03 = 5.9 % four times and 1.1536 - 1 / (1.03 (1 + 0.0204)) = 20.2 %.
  EXPECT_EQ(
      record_table(steps),
      "system      transport  network   testbeds  rows  typical   worst  within\n"
      "----------  ---------  --------  --------  ----  -------  ------  ------\n"
      "all-reduce  wire       one node         2     5    2.0 %  30.0 %       3\n"
      "\n"
      "network   model  system      testbeds  rows  typical   worst  within\n"
      "--------  -----  ----------  --------  ----  -------  ------  ------\n"
      "one node  tiny   all-reduce         2     5    2.0 %  30.0 %       3\n"
      "\n"
      "3 of 5 measured steps lie within the interval that other testbeds give (60.0 %), whose "
      "median width is 5.9 %; typical error 2.0 %\n");
}

}  // namespace
}  // namespace steptime
