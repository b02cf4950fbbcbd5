// Are factors drawn for each worker and step, and within their bounds?
#include "sim/workload/variation.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"
#include "tests/support/messages.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const Params kRun{{.key = "variation", .kind = Kind::kObject, .words = variation_presets()}};

Variation read(const std::string& json) {
  return read_variation(config_of(R"({"variation": )" + json + "}", kRun));
}

TEST(Variation, FactorsAreDrawnPerWorkerAndStep) {
  const Variation spread{.spread = 0.2};
  EXPECT_EQ(spread.factor(1, 3, 0), spread.factor(1, 3, 9));
  EXPECT_NE(spread.factor(1, 3, 0), spread.factor(1, 4, 0));
  const Variation jitter{.jitter = 0.2};
  EXPECT_NE(jitter.factor(1, 3, 0), jitter.factor(1, 3, 9));
  EXPECT_EQ(Variation{}.factor(1, 3, 0), 1);
  const Variation always{.straggle_chance = 1, .straggle_factor = 4};
  EXPECT_EQ(always.factor(1, 3, 0), 4);
}

TEST(Variation, NoFactorExceedsTheMost) {
  const Variation wild{.spread = 0.5, .jitter = 0.3, .straggle_chance = 0.5, .straggle_factor = 3};
  EXPECT_EQ(wild.most(), 4 * 2.8 * 3);
  for (std::int64_t worker = 0; worker < 1000; ++worker)
    EXPECT_LE(wild.factor(1, worker, worker % 7), wild.most());
}

// The GPUs of a node are workers one after another: with four a node, GPU 3 of node 2 is worker 11.
TEST(Variation, GpusAreKnownByName) {
  Variation v = read(R"({"gpus": [{"node": 2, "gpu": 3, "speed": 0.8}, {"node": 1, "speed": 2}]})");
  v.gpus_per_node = 4;
  for (std::int64_t worker = 0; worker < 16; ++worker)
    EXPECT_EQ(v.factor(1, worker, 5), worker == 11 ? 1 / 0.8 : worker / 4 == 1 ? 0.5 : 1) << worker;
  EXPECT_TRUE(v.any());
  EXPECT_EQ(v.most(), 1 / 0.8);
}

// Of 10,000 GPUs 10 % are 1000, with a standard deviation of sqrt(10,000 x 0.1 x 0.9) = 30.
TEST(Variation, GpusAreSlowByChanceForTheWholeRun) {
  const Variation v = read(R"({"slow_chance": 0.1, "slow_speed": 0.5})");
  const Variation more = read(R"({"slow_chance": 0.2, "slow_speed": 0.5})");
  int slow = 0;
  for (std::int64_t worker = 0; worker < 10'000; ++worker) {
    EXPECT_EQ(v.factor(7, worker, 0), v.factor(7, worker, 1));
    if (v.factor(7, worker, 0) == 1) continue;
    ++slow;
    EXPECT_EQ(v.factor(7, worker, 0), 2);
    EXPECT_EQ(more.factor(7, worker, 0), 2);
  }
  EXPECT_NEAR(slow, 1000, 5 * 30);
}

TEST(Variation, ASpeedIsANumber) {
  EXPECT_EQ(message_of<InputError>([] { read(R"({"gpus": [{"node": 2, "speed": 0}]})"); }),
            "x.json: /variation/gpus/0/speed: must be at least 0.001 and at most 1000, got 0");
}

TEST(Variation, AChanceSaysHowMuchLongerItTakes) {
  EXPECT_EQ(message_of<InputError>([] { read(R"({"slow_chance": 0.5})"); }),
            "x.json: /variation/slow_speed: required but missing, as there is a \"slow_chance\"");
  EXPECT_EQ(message_of<InputError>([] { read(R"({"straggle_chance": 0.5})"); }),
            "x.json: /variation/straggle_factor: required but missing, as there is a "
            "\"straggle_chance\"");
  EXPECT_FALSE(read(R"({"slow_chance": 0, "straggle_chance": 0})").any());
}

TEST(Variation, AGpuHasOneSpeed) {
  const auto refusal = [](const std::string& second) {
    return message_of<InputError>(
        [&] { read(R"({"gpus": [{"node": 2, "gpu": 1, "speed": 0.8}, )" + second + "]}"); });
  };
  EXPECT_EQ(refusal(R"({"node": 2, "gpu": 1, "speed": 0.5})"),
            "x.json: /variation/gpus/1/gpu: found GPUs that entry 0 names, too; expected each GPU "
            "once");
  EXPECT_EQ(refusal(R"({"node": 2, "speed": 0.5})"),
            "x.json: /variation/gpus/1/node: found GPUs that entry 0 names, too; expected each GPU "
            "once");
  EXPECT_EQ(refusal(R"({"node": 2, "gpu": 0, "speed": 0.5}, {"node": 1, "speed": 0.5})"),
            "no error");
}

// Largest of n standard normal numbers: 1 / sqrt(pi) of two, 3 / (2 sqrt(pi)) of three, 2.50759 of
// a hundred (Harter 1961, Biometrika 48, table 1); two standard deviations are one of their root
// of squares.
TEST(Variation, TheSlowestOfSomeIsAsLongAsTheLargestIsExpected) {
  const double pi = std::acos(-1.);
  const Variation differ{.spread = 0.03, .jitter = 0.04};
  EXPECT_EQ(differ.of_slowest(1), 1);
  EXPECT_NEAR(differ.of_slowest(2), 1 + 0.05 / std::sqrt(pi), 1e-9);
  EXPECT_NEAR(differ.of_slowest(3), 1 + 0.05 * 1.5 / std::sqrt(pi), 1e-9);
  EXPECT_NEAR(differ.of_slowest(100), 1 + 0.05 * 2.50759, 1e-6);
}

// The mean over many draws, whose numbers are about normal and whose own error is 0.1 / sqrt(2000).
TEST(Variation, TheSlowestOfSomeIsAsLongAsDrawnOnesAreOnAverage) {
  const Variation differ{.spread = 0.1, .straggle_chance = 0.05, .straggle_factor = 2};
  double sum = 0;
  for (std::int64_t seed = 0; seed < 2000; ++seed) {
    double slowest = 0;
    for (std::int64_t worker = 0; worker < 16; ++worker)
      slowest = std::max(slowest, differ.factor(seed, worker, 0));
    sum += slowest;
  }
  EXPECT_NEAR(differ.of_slowest(16), sum / 2000, 0.03);
  const Variation always{.straggle_chance = 1, .straggle_factor = 4};
  EXPECT_EQ(always.of_slowest(7), 4);
}

/// Two workers take, in steps 0 to 4 [s]:
///
///   0:  9  1  4  2  7
///   1:  9  3  1  1  2
///
/// Each step by itself: 3 + 4 + 2 + 7. From step 1 on in pairs: max(1 + 4, 3 + 1) + max(2 + 7, 3).
TEST(ComputedBySlowest, AddsUpFromMeetingToMeeting) {
  const std::vector<std::vector<int>> seconds{{9, 1, 4, 2, 7}, {9, 3, 1, 1, 2}};
  const auto of = [&](std::int64_t worker, std::int64_t step) -> Duration {
    return std::chrono::seconds(
        seconds[static_cast<std::size_t>(worker)][static_cast<std::size_t>(step)]);
  };
  EXPECT_EQ(computed_by_slowest({1, 5}, 2, of), std::chrono::seconds(16));
  EXPECT_EQ(computed_by_slowest({1, 5, 2}, 2, of), std::chrono::seconds(14));
  EXPECT_EQ(computed_by_slowest({1, 4, 2}, 2, of), std::chrono::seconds(7));  // the last one alone
}

TEST(Variation, ReadsItsKeys) {
  const Variation v = read(R"({"spread": 0.1, "straggle_chance": 0.2, "straggle_factor": 3})");
  EXPECT_EQ(v.spread, 0.1);
  EXPECT_EQ(v.jitter, 0);
  EXPECT_EQ(v.straggle_chance, 0.2);
  EXPECT_EQ(v.straggle_factor, 3);
  EXPECT_EQ(v.seeds, 1);
  EXPECT_TRUE(v.any());
}

// The whiskers of a box plot of normal numbers are 4 x 1.349 sd apart, here 8 %.
TEST(Variation, OfAPresetIsItsSourcesSpread) {
  EXPECT_NEAR(read("\"typical\"").spread, 0.08 / (4 * 1.349), 1e-4);
  const Variation more = read(R"({"preset": "typical", "jitter": 0.02, "seeds": 7})");
  EXPECT_EQ(more.spread, read("\"typical\"").spread);
  EXPECT_EQ(more.jitter, 0.02);
  EXPECT_EQ(more.seeds, 7);
  EXPECT_EQ(read(R"({"preset": "typical", "spread": 0.1})").spread, 0.1);
}

TEST(Variation, OfAnUnknownPresetSaysTheKnownOnes) {
  EXPECT_EQ(message_of<InputError>([] { read("\"typicl\""); }),
            "x.json: /variation: unknown \"typicl\" (did you mean \"typical\"?); known: typical");
}

}  // namespace
}  // namespace steptime
