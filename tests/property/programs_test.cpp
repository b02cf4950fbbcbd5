// Programs of workers against the player that knew each of these strategies: over random
// experiments they take the same time, to the picosecond. Where collectives share links by flows,
// each change of sharing may round a picosecond otherwise; and where a client of one worker has
// several streams, which mean nothing to servers, workers with several gradients at one instant
// take turns differently. So may hybrids' clients without a barrier, when pushes are in at one
// instant: those that tests/golden/random has are equal, others are not compared here.
#include "sim/core/error.h"
#include "sim/experiment/training_run.h"
#include "sim/training/play.h"
#include "tests/support/drawn_experiments.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr int kCompared = 300;

std::optional<TrainingPlan> plan_of(std::uint32_t number, std::string_view group) {
  try {
    const Experiment e = drawn_experiment(ExperimentDraw(number).config(group));
    if (e.embedding->settings() || e.aggregation->merges) return std::nullopt;
    const bool servers_and_streams = e.aggregation->servers.count > 0 && e.transport->streams > 1;
    if (servers_and_streams) return std::nullopt;
    const bool hybrid = e.aggregation->servers.count > 0 && group == "hybrid";
    if (hybrid && !e.update->waits_for_all()) return std::nullopt;
    return plan_training(e);
  } catch (const InputError&) {
    return std::nullopt;  // parts that do not go together
  }
}

class Programs : public testing::TestWithParam<std::string_view> {};

TEST_P(Programs, TakeAsLongAsThePlayerThatKnewThem) {
  int compared = 0;
  for (std::uint32_t number = 0; compared < kCompared && number < 20 * kCompared; ++number) {
    const std::optional<TrainingPlan> plan = plan_of(number, GetParam());
    if (!plan) continue;
    ++compared;
    const TrainingTimes known = play_training(*plan, 1, nullptr, nullptr, 0);
    const TrainingTimes played = play_programs(*plan, 1, nullptr, nullptr, 0);
    const double rounding = plan->transport->streams > 1 ? 1e-9 : 0;
    ASSERT_NEAR(played.end_s, known.end_s, rounding) << number;
    ASSERT_NEAR(played.step_s, known.step_s, rounding + 1e-15) << number;  // a mean of several
    ASSERT_EQ(played.messages, known.messages) << number;
    ASSERT_EQ(played.staleness, known.staleness) << number;
    ASSERT_EQ(played.all_reduces, known.all_reduces) << number;
    ASSERT_EQ(played.sent.size(), known.sent.size()) << number;
    for (std::size_t i = 0; rounding == 0 && i < known.sent.size(); ++i) {
      ASSERT_EQ(played.sent[i].start, known.sent[i].start) << number << " message " << i;
      ASSERT_EQ(played.sent[i].end, known.sent[i].end) << number << " message " << i;
    }
  }
  EXPECT_EQ(compared, kCompared);
}

TEST_P(Programs, CausesAddUpToTheStep) {
  const std::uint32_t seed = std::random_device{}() % 1'000'000'000;
  fmt::print("experiments from number {} on\n", seed);
  int played = 0;
  for (std::uint32_t number = seed; played < 100 && number < seed + 2000; ++number) {
    const std::optional<TrainingPlan> plan = plan_of(number, GetParam());
    if (!plan) continue;
    ++played;
    Causes causes;
    const TrainingTimes times = play_programs(*plan, 1, nullptr, nullptr, 0, nullptr, &causes);
    double sum = 0;
    for (const Cause& cause : times.attribution)
      sum += cause.seconds;
    ASSERT_NEAR(sum, times.step_s, 1e-9 * std::max(1.0, times.step_s)) << number;
  }
}

INSTANTIATE_TEST_SUITE_P(Drawn, Programs,
                         testing::Values("all-reduce", "parameter-server", "hybrid"),
                         [](const testing::TestParamInfo<std::string_view>& group) {
                           std::string name(group.param);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace steptime
