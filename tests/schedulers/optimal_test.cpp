#include "sim/core/error.h"
#include "sim/step/schedule.h"
#include "tests/support/config_text.h"
#include "tests/support/fakes.h"
#include "tests/support/messages.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr Duration kMs{1'000'000'000};
constexpr Duration kSecond{1'000'000'000'000};
using Sizes = std::vector<std::int32_t>;

const Schedule& optimal() {
  static const auto schedule = make<Schedule>(R"({"type": "optimal"})");
  return *schedule;
}
Sizes best(const std::vector<Gradient>& gradients, const Collective& collective) {
  return optimal().plan(workload_of(gradients).units(Granularity::kTensor), collective).sizes;
}

// a = 1 ms, b = 1 ms/B. Ready at 10, 19 and 28 ms, 3 B each.
//
//   {1}{1}{1}  10 + 4 = 14; 19 + 4 = 23; 28 + 4 = 32
//   {2}{1}     19 + 7 = 26; 28 + 4 = 32
//   {1}{2}     14; 28 + 7 = 35           {3}  28 + 10 = 38
//
// Two partitions end at 32 ms; of the prefix that ends before a gradient is ready, the longest is
// taken.
TEST(Optimal, SendsAloneWhatNothingHolds) {
  EXPECT_EQ(best({{10 * kMs, 3}, {9 * kMs, 3}, {9 * kMs, 3}}, line(kMs, kMs)), (Sizes{1, 1, 1}));
}

// The smallest case in which Algorithm 1 of 004 is not optimal, in ms x 10: a = 10, b p = 3, ready
// at 10, 19, 28. All in one: 28 + 10 + 9 = 47. {1}{2}: max(10 + 13, 28) + 10 + 6 = 44. {2}{1}:
// max(19 + 16, 28) + 13 = 48. {1}{1}{1}: 23, 36, 49.
TEST(Optimal, BeatsTheGreedyMerge) {
  const std::vector<Gradient> gradients{{10 * kMs, 3}, {9 * kMs, 3}, {9 * kMs, 3}};
  const LinearCollective collective = line(10 * kMs, kMs);
  EXPECT_EQ(best(gradients, collective), (Sizes{1, 2}));
  EXPECT_EQ(step_of(workload_of(gradients), optimal(), collective).step, 44 * kMs);
  const auto greedy = make<Schedule>(R"({"type": "mg-wfbp"})");
  EXPECT_EQ(step_of(workload_of(gradients), *greedy, collective).step, 47 * kMs);
}

// A cost that is no line: the first 10 B are free, more cost 100 ms. Two messages of 10 B beat one.
TEST(Optimal, HoldsForAnyCost) {
  const CostFunction cost(1 * kMs, [](Bytes m) { return (m.count <= 10 ? 1 : 100) * kMs; });
  const std::vector<Gradient> gradients{{1 * kMs, 5}, {{}, 5}, {{}, 5}, {{}, 5}};
  EXPECT_EQ(best(gradients, cost), (Sizes{2, 2}));
  EXPECT_EQ(step_of(workload_of(gradients), optimal(), cost).step, 3 * kMs);
}

// 400 gradients of 1 MB have 80,200 sums, but up to 400 MB, of 29 binary digits, there are at most
// 128 * (29 - 8) + 256 = 2,944 sizes of eight digits, each of which is asked for once. A line is
// met exactly between them, so the plan ends when that of the line does.
TEST(Optimal, LongModelsOfAnyCostAskForFewTimes) {
  constexpr Duration kUs{1'000'000};
  std::vector<Gradient> gradients;
  for (int i = 0; i < 400; ++i)
    gradients.push_back({(i % 7) * 100 * kUs, 1'000'000});
  int asked = 0;
  const auto price = [&](Bytes m) { return 20 * kUs + Duration(m.count * 2'000); };
  const CostFunction cost(20 * kUs, [&](Bytes m) {
    ++asked;
    return price(m);
  });
  const auto units = workload_of(gradients).units(Granularity::kTensor);
  const BucketPlan plan = optimal().plan(units, cost);
  EXPECT_LE(asked, 2'944);
  const LinearCollective same = line(20 * kUs, Duration(2'000));
  EXPECT_EQ(end_of(units, plan.sizes, same),
            end_of(units, optimal().plan(units, same).sizes, same));
}

TEST(Optimal, TooManyGradientsOfAnyCostAreRefused) {
  const std::vector<Gradient> gradients(20'001, Gradient{kMs, 1});
  const CostFunction cost(kMs, [](Bytes) { return kMs; });
  const std::string said =
      message_of<InputError>([&] { plan_of(workload_of(gradients), optimal(), cost); });
  EXPECT_TRUE(said.ends_with(
      ": 20001 gradients, expected at most 20000 of a collective whose time is no line in the "
      "size; mg-wfbp takes any number, and \"granularity\": \"layer\" makes fewer"))
      << said;
}

TEST(Optimal, NothingToSend) {
  EXPECT_TRUE(best({}, line(kMs, {})).empty());
}

TEST(Optimal, OneGradient) {
  EXPECT_EQ(best({{kMs, 1}}, line(kMs, {})), (Sizes{1}));
}

// Each message lies within simulated time, their sum does not.
TEST(Optimal, MessagesBeyondSimulatedTimeAreAnInputError) {
  const std::vector<Gradient> gradients(9, Gradient{kMs, 1});
  const CostFunction cost({}, [](Bytes) { return 5'000'000 * kSecond; });
  EXPECT_THROW(plan_of(workload_of(gradients), optimal(), cost), InputError);
}

/// In [0, 1), the same for every standard library.
double uniform(std::mt19937_64& random) {
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

// Random instances, L = 1 to 10, all partitions tried. The greedy merge never loses against sending
// every gradient alone or all of them in one message, but misses the optimum often: how often
// depends on the distribution, 34 % for one like that of mgwfbp_cases.json, 42 % for this one.
TEST(Optimal, MonteCarloOfTheGreedyMerge) {
  std::mt19937_64 random(20180924);
  const auto greedy = make<Schedule>(R"({"type": "mg-wfbp"})");
  const LinearCollective collective = line(kSecond, kMs);  // a = 1 s, b = 1 ms/B
  constexpr int kInstances = 20'000;
  int suboptimal = 0;
  double worst = 1;
  for (int i = 0; i < kInstances; ++i) {
    std::vector<Gradient> gradients(1 + random() % 10);
    for (Gradient& g : gradients) {
      g.backward = static_cast<std::int64_t>(uniform(random) * 2'000) * kMs;  // 0 to 2 a
      g.bytes = 1 + static_cast<std::int64_t>(uniform(random) * 1'000);       // b p: 0 to a
    }
    const auto units = workload_of(gradients).units(Granularity::kTensor);
    const auto finish = [&](const Sizes& sizes) { return end_of(units, sizes, collective); };
    const Duration least = earliest_end(units, collective);
    const Duration merged = finish(greedy->plan(units, collective).sizes);
    const auto n = static_cast<std::int32_t>(units.size());
    ASSERT_EQ(finish(optimal().plan(units, collective).sizes), least);
    ASSERT_LE(merged, finish(Sizes(units.size(), 1)));
    ASSERT_LE(merged, finish(Sizes{n}));
    if (n <= 2) {
      ASSERT_EQ(merged, least);
    }
    if (merged > least) ++suboptimal;
    worst = std::max(worst, to_seconds(merged) / to_seconds(least));
  }
  const double share = static_cast<double>(suboptimal) / kInstances;
  EXPECT_GT(share, 0.3);
  EXPECT_LT(share, 0.5);
  EXPECT_LT(worst, 2);  // the family t_b = .999 a comes near 2 for long models only
  RecordProperty("suboptimal", suboptimal);
  RecordProperty("worst_percent", static_cast<int>(worst * 100));
}

}  // namespace
}  // namespace steptime
