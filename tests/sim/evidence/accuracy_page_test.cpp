#include "sim/evidence/accuracy_page.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

ClaimRow row(const std::string& id, double simulated, double error_pct, bool ok) {
  return {.id = id,
          .paper = "tiny",
          .quantity = "step time",
          .unit = "s",
          .relation = "=",
          .published = 0.4,
          .simulated = simulated,
          .error_pct = error_pct,
          .tolerance_pct = 10,
          .kind = "predicted",
          .ok = ok};
}

TEST(AccuracyPage, HasTotalsReasonsAndWhatWasFitted) {
  AccuracyParts parts;
  parts.rows = {row("T-1", 0.41, 2.5, true), row("T-2", 0.5, 25, false), row("T-3", 0.6, 50, false),
                row("T-4", 0.4, 0, true)};
  parts.rows[1].reason = parts.rows[2].reason = "a stopped clock";
  parts.rows[3].kind = "fitted";
  parts.rows[3].fitted = "the rate, to T-4";
  const std::string page = accuracy_page(parts);
  // Two of four are ok; of three predictions, whose errors are 2.5, 25 and 50 %, one.
  EXPECT_NE(page.find("\n| [tiny](#tiny) | 2 of 4 ok | 1 of 3 ok | 25.0 % (3) |\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("\n| T-2 | step time | 0.4 s | 0.5 | +25.0 % | 10 % | predicted | **missed** "
                      "|\n"),
            std::string::npos)
      << page;
  EXPECT_NE(page.find("\nMissed, and why:\n\n- T-2, T-3: a stopped clock\n"), std::string::npos);
  EXPECT_NE(page.find("\nFitted, and what to:\n\n- T-4: the rate, to T-4\n"), std::string::npos);
}

TEST(AccuracyPage, SaysWhatTheRecordCoversAndWhatItDoesNot) {
  AccuracyParts parts;
  RecordedStep step;
  step.row.id = "T-1";
  step.row.testbed = "lab";
  step.row.kind.words = {"PyTorch 2", "measured",         "Volta",  "horovod, NCCL 2.5",
                         "tcp",       "all-reduce, wfbp", "ResNet", "one"};
  step.prediction.step_s = 1;
  step.prediction.kind = step.row.kind;
  parts.steps = {step, step};
  const std::string page = accuracy_page(parts);
  EXPECT_NE(page.find("\n| GPU | Volta (2) |\n"), std::string::npos) << page;
  const std::string open = page.substr(page.find("### What no row covers"));
  const std::string schedules = open.substr(open.find("- schedule: "));
  EXPECT_NE(schedules.substr(0, schedules.find('\n')).find("`mg-wfbp`"), std::string::npos);
  EXPECT_EQ(schedules.substr(0, schedules.find('\n')).find("`wfbp`"), std::string::npos);
}

}  // namespace
}  // namespace steptime
