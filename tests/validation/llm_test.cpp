// How far off are published training runs of language models, by family of devices and precisions,
// and do changes of one thing move steps as much as published? Bounds are those that were asked for
// before the rows were fitted; rows that rates are fitted on are in no mean.
#include "sim/evidence/claims.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <stdexcept>
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

const ClaimRow& row(const std::string& id) {
  const auto found =
      std::find_if(rows().begin(), rows().end(), [&](const ClaimRow& r) { return r.id == id; });
  if (found == rows().end()) throw std::out_of_range(id);
  return *found;
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

struct Effect {
  const char* of;
  const char* over;
  double within;  ///< of the published ratio of step times
};

// Asynchronous tensor parallelism; bfloat16 over FP8 of 70B and 175B on the fewest GPUs; FSDP from
// 8 to 128 GPUs; the ladders of weak scaling to 2,048 GPUs that come within 4 points. What
// docs/models/layouts.md names as missed is not here: 340B in FP8, four ladders, full recomputation
// over selective.
TEST(LanguageModels, RatiosOfStepsAreAsPublished) {
  constexpr Effect kEffects[] = {
      {"titan-8b-2506-bf16-vanilla", "titan-8b-2506-bf16-async", 0.05},
      {"titan-8b-2506-fp8-tensorwise-vanilla", "titan-8b-2506-fp8-tensorwise-async", 0.06},
      {"dgxc-llama70b-BF16-n64", "dgxc-llama70b-FP8-n64", 0.08},
      {"dgxc-gpt175b-BF16-n128", "dgxc-gpt175b-FP8-n128", 0.08},
      {"titan-8b-n128-eager", "titan-8b-n8-eager", 0.04},
      {"titan-8b-n128-compile", "titan-8b-n8-compile", 0.04},
      {"titan-8b-n128-float8", "titan-8b-n8-float8", 0.04},
      {"dgxc-llama70b-BF16-n2048", "dgxc-llama70b-BF16-n64", 0.04},
      {"dgxc-gpt175b-BF16-n2048", "dgxc-gpt175b-BF16-n128", 0.04}};
  for (const Effect& effect : kEffects) {
    const ClaimRow& of = row(effect.of);
    const ClaimRow& over = row(effect.over);
    EXPECT_EQ(of.kind, "predicted") << of.id;
    EXPECT_EQ(over.kind, "predicted") << over.id;
    const auto ratio = [](const Json& a, const Json& b) {
      return a.get<double>() / b.get<double>();
    };
    EXPECT_NEAR(ratio(of.simulated, over.simulated), ratio(of.published, over.published),
                effect.within)
        << of.id;
  }
}

// Of 47 ways to train 39.1B on 512 A100 the one that is ranked first is within 5 % of the best one,
// and of the 26 with tensor groups of 8 the order is right: Kendall's tau.
TEST(LanguageModels, WaysToTrainAreRankedAsMeasured) {
  std::vector<const ClaimRow*> all;
  std::vector<const ClaimRow*> by_eight;
  for (const ClaimRow& r : rows()) {
    if (r.group != "vtrain-multi-39.1") continue;
    all.push_back(&r);
    if (r.id.find("-t8") != r.id.npos) by_eight.push_back(&r);
  }
  ASSERT_EQ(all.size(), 47U);
  ASSERT_EQ(by_eight.size(), 26U);
  const auto by = [](const Json ClaimRow::*figure) {
    return [figure](const ClaimRow* a, const ClaimRow* b) {
      return (a->*figure).get<double>() < (b->*figure).get<double>();
    };
  };
  const double best = (*std::min_element(all.begin(), all.end(), by(&ClaimRow::published)))
                          ->published.get<double>();
  const double chosen = (*std::min_element(all.begin(), all.end(), by(&ClaimRow::simulated)))
                            ->published.get<double>();
  EXPECT_LE(chosen / best, 1.05);
  int agree = 0;
  int pairs = 0;
  for (std::size_t i = 0; i < by_eight.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double published =
          by_eight[i]->published.get<double>() - by_eight[j]->published.get<double>();
      const double simulated =
          by_eight[i]->simulated.get<double>() - by_eight[j]->simulated.get<double>();
      agree += published * simulated > 0 ? 1 : 0;
      agree -= published * simulated < 0 ? 1 : 0;
      ++pairs;
    }
  }
  EXPECT_GE(static_cast<double>(agree) / pairs, 0.75);
}

// Backward prefetch of 175B's units, about 18 % (Zhao et al., 2304.11277 section 5.3), on 128 A100:
// 1.08 to 1.28. And what it moves is the weights' share of a step, not the gradients'.
TEST(LanguageModels, BackwardPrefetchHidesGathers) {
  const auto step = [](const char* prefetch) {
    const Json config = parse_json(R"({"name": "x",
      "workload": {"model": "gpt3-175b", "device": "a100", "sequence": 2048, "batch": 1,
                   "global_batch": 128, "precision": "bfloat16", "dtype": "bfloat16"},
      "cluster": {"preset": "dgx-a100", "nodes": 16},
      "strategy": {"stack": "fsdp1", "layout": {}, "recompute": {"type": "full"},
                   "aggregation": {"type": "all-reduce", "collective": {"type": "nccl"}},
                   "states": {"type": "fsdp", "prefetch": ")" +
                                       std::string(prefetch) + R"("}}})",
                                   "x.json");
    return simulate(read_experiment(std::make_shared<Document>(Document{"x.json", config})))
        .step_time_s;
  };
  EXPECT_NEAR(step("none") / step("backward"), 1.18, 0.10);
}

}  // namespace
}  // namespace steptime
