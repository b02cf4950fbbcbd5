// Trainings on nodes that fail, against Daly's formulas.
#include "sim/experiment/failures.h"

#include "sim/experiment/result_text.h"
#include "sim/experiment/simulate.h"
#include "tests/support/messages.h"
#include "tests/support/simulated.h"

#include <cmath>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::minutes;

/// As in figures 3 to 5 of Daly 2006, where M is 24 h, 6 h and 15 min and a checkpoint 5 min: the
/// best intervals are 117, 57 and 9.1 min.
TEST(Failures, TheBestIntervalIsDalys) {
  const Failures f{.checkpoint = minutes(5), .restart = minutes(10)};
  EXPECT_NEAR(f.best_interval(24 * 3600) / 60, 117, 0.5);
  EXPECT_NEAR(f.best_interval(6 * 3600) / 60, 57, 0.5);
  EXPECT_NEAR(f.best_interval(15 * 60) / 60, 9.1, 0.05);
  EXPECT_EQ(f.best_interval(150), 150);  // a checkpoint takes as long as two failures are apart
}

/// M = 1 h, 20 min of work, a checkpoint of 2 min, a restart of 3 min; 100 intervals of work:
/// M e^(R/M) (e^((t + c)/M) - 1) T / t. 2000 trainings, each the sum of 100 independent intervals
/// whose standard deviation is about that of a failure's loss, 0.3 M at most: 5 standard errors are
/// 5 x 0.3 M x 10 / sqrt(2000), 0.34 M.
TEST(Failures, TheMeanIsDalysExpectedTime) {
  constexpr double kM = 3600;
  const Failures f{.steps = 100 * 1200,
                   .per_node_and_day = 24 / 4.,
                   .checkpoint = minutes(2),
                   .restart = minutes(3),
                   .interval = minutes(20),
                   .seeds = 2000};
  const FailureTimes times = f.times(1, 4, 1);
  const double expected =
      kM * std::exp(3. / 60) * std::expm1(22. / 60) * static_cast<double>(f.steps) / 1200;
  EXPECT_NEAR(times.mean, expected, 0.34 * kM);
  EXPECT_DOUBLE_EQ(times.useful_share, static_cast<double>(f.steps) / times.mean);
  EXPECT_LT(times.percentiles.p50, times.percentiles.p95);
  EXPECT_LT(times.percentiles.p95, times.percentiles.p99);
}

/// Daly's interval is the best of those around it, too, where the same failures meet all of them.
TEST(Failures, TheBestIntervalIsBestWhenPlayed) {
  Failures f{.steps = 1'000'000,
             .per_node_and_day = 1,
             .checkpoint = minutes(5),
             .restart = minutes(10),
             .seeds = 400};
  const double best = f.times(1, 4, 1).mean;  // M = 6 h: 57 min
  for (const int m : {20, 150}) {
    f.interval = minutes(m);
    EXPECT_GT(f.times(1, 4, 1).mean, best) << m;
  }
}

TEST(Failures, NoneOnlyCostsCheckpoints) {
  Failures f{.steps = 100,
             .per_node_and_day = 1e-9,
             .checkpoint = std::chrono::seconds(1),
             .interval = std::chrono::seconds(30)};
  // Checkpoints after 30, 60, 90 and 100 s.
  EXPECT_EQ(f.times(1, 1, 1).mean, 104);
  // None takes no time: one after every step.
  f.checkpoint = {};
  f.interval = {};
  EXPECT_EQ(f.times(1, 1, 1).mean, 100);
  EXPECT_EQ(f.times(1, 1, 1).interval, 1);
}

/// Parts of 30 s, each with a checkpoint of 1 s, of 100 s of work. A failure after 70 s loses 8 s
/// behind two parts that are kept; from 72 s on, 2 s later, 40 s are left, with two checkpoints:
/// 114 s. One at 71 s, while the first restart goes on, makes another one: a second more.
TEST(Failures, ThatAreKnownComeAtTheirMoments) {
  Failures f{.steps = 100,
             .per_node_and_day = 0,
             .known = {{.node = 1, .after = std::chrono::seconds(70)}},
             .checkpoint = std::chrono::seconds(1),
             .restart = std::chrono::seconds(2),
             .interval = std::chrono::seconds(30)};
  EXPECT_EQ(f.times(1, 4, 1).mean, 114);
  EXPECT_EQ(f.times(1, 4, 1).useful_share, 100. / 114);
  f.known.push_back({.node = 2, .after = std::chrono::seconds(71)});
  EXPECT_EQ(f.times(1, 4, 1).mean, 115);
  f.known = {{.node = 1, .after = std::chrono::hours(1)}};  // when the training is over
  EXPECT_EQ(f.times(1, 4, 1).mean, 104);
  f.known = {};
  EXPECT_EQ(f.times(1, 4, 1).mean, 104);
}

/// Failures by chance are at the same moments with and without those that are known.
TEST(Failures, ThatAreKnownLeaveThoseByChance) {
  Failures f{.checkpoint = minutes(1), .restart = minutes(5)};
  const double before = f.play(1e5, 900, 7200, 3);
  f.known = {{.node = 0, .after = std::chrono::seconds(static_cast<std::int64_t>(before) + 1)}};
  EXPECT_EQ(f.play(1e5, 900, 7200, 3), before);
  f.known = {{.node = 0, .after = std::chrono::seconds(1)}};
  // 1 s of work is lost, and the restart; what comes later may then lose less or more of a part.
  EXPECT_NEAR(f.play(1e5, 900, 7200, 3), before + 301, 2 * 960);
}

/// What is compared meets failures at the same moments: less work is never done later.
TEST(Failures, AreTheSameForAllThatIsCompared) {
  const Failures f{.checkpoint = minutes(1), .restart = minutes(5)};
  for (std::int64_t seed = 0; seed < 200; ++seed) {
    double before = 0;
    for (double work = 1000; work < 1e6; work *= 1.3) {
      const double time = f.play(work, 900, 7200, seed);
      EXPECT_GT(time, before) << seed << ": " << work;
      before = time;
    }
  }
}

TEST(Failures, StandBesideTheStep) {
  const TinyFolder folder;
  const Experiment e = tiny_experiment(folder, R"({"run": {"failures": {
      "steps": 1000000, "checkpoint": "60 s", "restart": "300 s", "seeds": 10}}})");
  const Result r = simulate(e);
  // 44 ms a step; M of 4 nodes is 1 day / (4 x 419 / (54 x 2048)), 5.70e6 s: 26,155 s with 1/3
  // sqrt(60 / 2 M) = 0.08 % more, less the checkpoint, so that there are two.
  EXPECT_NEAR(figure_of(r, "training_time_p50_s"), 44'000 + 2 * 60, 1e-6);
  EXPECT_NEAR(figure_of(r, "checkpoint_interval_s"), 26'115, 20);
}

TEST(Failures, TooManyAreRefused) {
  const TinyFolder folder;
  const Experiment e = tiny_experiment(folder, R"({"run": {"failures": {
      "steps": 1000000, "checkpoint": "60 s", "restart": "300 s", "per_node_and_day": 86400}}})");
  EXPECT_EQ(message_of<InputError>([&] { simulate(e); }),
            folder.path("x.json") +
                ": /run/failures: a failure every 0.25 s; 1000 trainings of "
                "4.4e+04 s meet about inf, at most 1e+08 are played");
}

}  // namespace
}  // namespace steptime
