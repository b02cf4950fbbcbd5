// How far off are published training runs of language models, by family of devices and precisions,
// and do changes of one thing move steps as much as published? Bounds are those that were asked for
// before the rows were fitted; rows that rates are fitted on are in no mean.
#include "sim/evidence/claims.h"
#include "sim/evidence/record_table.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const std::vector<ClaimRow>& rows() {
  static const std::vector<ClaimRow> all = [] {
    std::vector<ClaimRow> found;
    for (ClaimRow& row : reproduce("llm")) {
      if (!row.family.empty()) found.push_back(std::move(row));
    }
    return found;
  }();
  return all;
}

struct Bound {
  const char* family;
  double absolute;  ///< per cent
  double mean;      ///< of the signed errors
};

TEST(LanguageModels, PredictedRowsStayWithinTheBoundsOfTheirFamily) {
  constexpr Bound kBounds[] = {{"A100 16-bit", 9, 6},
                               {"H100 16-bit", 7, 4},
                               {"H100 FP8", 9, 5},
                               {"GB200 and GB300 FP8", 8, 5},
                               {"GB200 and GB300 NVFP4", 10, 10},
                               {"B200, one node", 7, 5},
                               {"below 32 GPUs", 12, 12}};
  for (const Bound& bound : kBounds) {
    double absolute = 0;
    double sum = 0;
    int count = 0;
    for (const ClaimRow& r : rows()) {
      if (r.family != bound.family || r.kind == "fitted") continue;
      absolute += std::abs(r.error_pct);
      sum += r.error_pct;
      ++count;
    }
    ASSERT_GT(count, 0) << bound.family;
    EXPECT_LE(absolute / count, bound.absolute) << bound.family;
    EXPECT_LE(std::abs(sum / count), bound.mean) << bound.family;
  }
}

TEST(LanguageModels, AtMostEightRowsOfADeviceAreFitted) {
  std::map<std::string, int> fitted;
  for (const ClaimRow& r : rows()) {
    // "float8 of transformers on h100", or a stack.
    if (r.kind == "fitted") ++fitted[r.fitted.substr(r.fitted.find_last_of(' ') + 1)];
  }
  for (const auto& [by, count] : fitted)
    EXPECT_LE(count, 8) << by;
}

// Which of the effects that were asked for come out stands in configs/papers/llm/llm.json: each
// that does not has its reason, and says like the others which seconds it moves.
TEST(LanguageModels, RatiosOfStepsAreAsPublishedOrHaveAReason) {
  const std::vector<RowEffect> effects = row_effects(rows());
  ASSERT_EQ(effects.size(), 27U);
  for (const RowEffect& effect : effects) {
    EXPECT_TRUE(effect.ok || !effect.reason.empty()) << effect.what;
    EXPECT_FALSE(effect.moves.empty()) << effect.what;
  }
  EXPECT_GE(std::count_if(effects.begin(), effects.end(),
                          [](const RowEffect& effect) { return effect.ok; }),
            26);
}

// Peaks of Megatron-Core on B200 within 3 % each and 1.5 % in the mean; of torchtitan within 10 %
// at 8,192 tokens on 8 and 128 H100. No row that ran lacks room.
TEST(LanguageModels, MemoryIsAsMeasured) {
  double sum = 0;
  int dense = 0;
  int short_ones = 0;
  for (const ClaimRow& r : rows()) {
    EXPECT_TRUE(r.fits) << r.id;
    if (r.group == "simumax-b200-mem") {
      EXPECT_LE(std::abs(r.error_pct), 3) << r.id;
      sum += std::abs(r.error_pct);
      ++dense;
    }
    if (r.group == "torchtitan-mem" &&
        (r.id.starts_with("titan-8b-n8-") || r.id.starts_with("titan-8b-n128-"))) {
      EXPECT_LE(std::abs(r.error_pct), 10) << r.id;
      ++short_ones;
    }
  }
  ASSERT_EQ(dense, 16);
  EXPECT_EQ(short_ones, 6);
  EXPECT_LE(sum / dense, 1.5);
}

// Intervals of the predicted rows, each from the rows of other groups: they hold nine in ten of
// what was measured, and are no wider than two fifths of the prediction. No row is validated, and
// each that is far off says that it may be.
TEST(LanguageModels, IntervalsFromOtherGroupsHoldWhatWasMeasured) {
  const std::vector<AssessedStep> all = assessed(recorded_rows("llm"));
  ASSERT_GT(all.size(), 250U);
  std::vector<double> widths;
  int within = 0;
  for (const AssessedStep& each : all) {
    widths.push_back(each.width());
    within += each.is_within() ? 1 : 0;
    EXPECT_FALSE(each.by_others.domain.is_validated()) << each.step.row.id;
    if (std::abs(each.step.row.error_pct) <= 20) continue;
    EXPECT_NE(each.by_others.domain.text().find("published steps of layouts are up to "),
              std::string::npos)
        << each.step.row.id;
  }
  std::sort(widths.begin(), widths.end());
  EXPECT_GE(within, 0.9 * static_cast<double>(all.size()));
  EXPECT_LE(widths[widths.size() / 2], 0.4);
}

// Of 47 ways to train 39.1B on 512 A100 the one that is ranked first is within 5 % of the best one,
// and of the 26 with tensor groups of 8 the order is right: Kendall's tau. That of all is asked for
// 0.5: its misses are those with tensor 2 and long pipelines, which nobody explains.
TEST(LanguageModels, WaysToTrainAreRankedAsMeasured) {
  const std::vector<RowRanking> rankings = row_rankings(rows());
  ASSERT_EQ(rankings.size(), 2U);
  EXPECT_EQ(rankings[0].rows, 47U);
  EXPECT_LE(rankings[0].chosen, 1.05);
  EXPECT_EQ(rankings[1].rows, 26U);
  EXPECT_TRUE(rankings[1].ok()) << rankings[1].tau;
}

// Backward prefetch of 175B's units, about 18 % (Zhao et al., 2304.11277 section 5.3), on 128 A100:
// 1.08 to 1.28. Steps wait for the slowest GPU, as those of all rows do.
TEST(LanguageModels, BackwardPrefetchHidesGathers) {
  const auto step = [](const char* prefetch) {
    const Json config =
        parse_json(R"({"name": "x",
      "workload": {"model": "gpt3-175b", "device": "a100", "sequence": 2048, "batch": 1,
                   "global_batch": 128, "precision": "bfloat16", "dtype": "bfloat16"},
      "cluster": {"preset": "dgx-a100", "nodes": 16},
      "strategy": {"stack": "fsdp1", "layout": {}, "recompute": {"type": "full"},
                   "aggregation": {"type": "all-reduce", "collective": {"type": "nccl"}},
                   "states": {"type": "fsdp", "prefetch": ")" +
                       std::string(prefetch) + R"("}}, "run": {"variation": "typical"}})",
                   "x.json");
    return simulate(read_experiment(std::make_shared<Document>(Document{"x.json", config})))
        .step_time_s;
  };
  EXPECT_NEAR(step("none") / step("backward"), 1.18, 0.10);
}

}  // namespace
}  // namespace steptime
