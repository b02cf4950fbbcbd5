// Does the table count what lies within the interval that other testbeds give?
#include "sim/evidence/record_table.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

RecordedStep step(const std::string& id, const std::string& testbed, double error_pct) {
  const KindOfStep kind{.words = {"PyTorch 2", "tuned", "Volta", "NCCL 2.5", "tcp",
                                  "all-reduce, wfbp", "ResNet", "several"},
                        .rate = 10e9 / 8};
  const Prediction prediction{.kind = kind,
                              .workers = 8,
                              .gpus_per_node = 4,
                              .samples = 32,
                              .latency_s = 20e-6,
                              .step_s = 1,
                              .compute_s = 0.8,
                              .comm_busy_s = 0.4,
                              .modelled = ModelErrors{.rows = 9, .typical_pct = 5, .worst_pct = 9}};
  return {.row = {.id = id,
                  .testbed = testbed,
                  .kind = kind,
                  .workers = 8,
                  .gpus_per_node = 4,
                  .samples = 32,
                  .latency_us = 20,
                  .share = prediction.share(),
                  .error_pct = error_pct,
                  .unexplained_pct = error_pct},
          .prediction = prediction,
          .model = "tiny",
          .config = "x.json"};
}

/// Two steps on each of three testbeds, 9 % off, and one on D, 40 % off.
std::vector<RecordedStep> steps() {
  return {step("1", "A", 9), step("2", "A", 9), step("3", "B", 9), step("4", "B", 9),
          step("5", "C", 9), step("6", "C", 9), step("7", "D", 40)};
}

// D's is judged by six steps of three testbeds, all ln 1.09 off: t = 3.182, w = 0.2742, up
// to 1.315, below its 1.4; A's by B's, C's and D's five.
TEST(RecordTable, AStepIsJudgedByOtherTestbeds) {
  const std::vector<AssessedStep> all = assessed(steps());
  ASSERT_EQ(all.size(), 7U);
  EXPECT_NEAR(all[6].by_others.step_s.high, 1.3155, 1e-3);
  EXPECT_FALSE(all[6].is_within());
  EXPECT_TRUE(all[0].is_within());
  EXPECT_TRUE(all[0].by_others.domain.is_validated());
  EXPECT_EQ(all[0].by_others.domain.n, 5);
}

TEST(RecordTable, NamesValidatedStepsThatAreFarOff) {
  const std::string table = record_table(steps());
  EXPECT_NE(table.find("validated and more than 20 % off: 7 (tuned kernels, +40.0 %)\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("\nall: 6 of 7 predictions hold the measured step in their interval "
                       "(85.7 %), whose median width is "),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("all-reduce        7   85.7 %"), std::string::npos) << table;
  EXPECT_NE(table.find("\nall               7   85.7 %"), std::string::npos) << table;
  EXPECT_EQ(table.find("From the measured time of one GPU"), std::string::npos) << table;
}

// Six steps 9 % off and one 40 %: 94 / 7.
TEST(RecordTable, TellsHowFarOffTheWayFromOneGpuIs) {
  std::vector<RecordedStep> measured = steps();
  for (RecordedStep& each : measured)
    each.row.kind[Attribute::kCompute] = "measured";
  const std::string table = record_table(measured);
  EXPECT_NE(table.find("From the measured time of one GPU to several nodes: 7 steps of 4 testbeds, "
                       "13.4 % off in the mean\n"),
            std::string::npos)
      << table;
}

/// A step of a layout.
RecordedStep layout_step(const std::string& id, const std::string& testbed, double error_pct) {
  RecordedStep layout = step(id, testbed, error_pct);
  for (KindOfStep* kind : {&layout.row.kind, &layout.prediction.kind}) {
    (*kind)[Attribute::kSchedule] = "layout, tensor";
    (*kind)[Attribute::kCompute] = "float8";
  }
  layout.prediction.modelled.reset();
  layout.group = id == "7" ? "g" : "h";
  return layout;
}

// As of others, but nothing is validated, and a low end may lie below the reckoned compute time,
// 0.8 s: 1 / 1.315 = 0.760.
TEST(RecordTable, StepsOfLayoutsAreNeverValidated) {
  std::vector<RecordedStep> layouts;
  for (const RecordedStep& each : steps())
    layouts.push_back(layout_step(each.row.id, each.row.testbed, each.row.error_pct));
  const std::vector<AssessedStep> all = assessed(layouts);
  EXPECT_FALSE(all[0].by_others.domain.is_validated());
  EXPECT_NEAR(all[6].by_others.step_s.low, 1 / 1.3155, 1e-3);
  const std::string table = layout_record_table(layouts);
  EXPECT_NE(table.find("7 is +40.0 % off, outside its interval; domain: extrapolated: published "
                       "steps of layouts are up to 9 % off\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("\nvalidated: 0\n"), std::string::npos) << table;
  EXPECT_NE(table.find("layout, tensor     7   85.7 %"), std::string::npos) << table;
  EXPECT_NE(table.find("group g            1"), std::string::npos) << table;
}

}  // namespace
}  // namespace steptime
