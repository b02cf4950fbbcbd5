#include "sim/training/record.h"

#include "tests/support/training.h"

#include <array>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

using std::chrono::milliseconds;

Time at_ms(std::int64_t ms) {
  return Time(milliseconds(ms));
}
constexpr std::array<std::int32_t, 2> kBoth{0, 1};
constexpr std::array<std::int32_t, 1> kOne{0};

TEST(Record, TellsWhatClient0SentInItsFirstStep) {
  const TrainingPlan plan =
      plan_training(training_experiment(strategy(kRing, kSgd, "wfbp"), 2, R"({"steps": 2})"));
  Engine engine;
  Record record(plan, engine, 1, false, {});
  EXPECT_TRUE(record.wants(1));
  EXPECT_FALSE(record.wants(2));
  for (const std::int64_t step : {0, 1}) {
    const Time start = at_ms(100 * step);
    record.begins(step);
    record.computes(0, step, start, milliseconds(1));
    record.reduced(kBoth, {8}, start + milliseconds(2 + step), start + milliseconds(3));
    record.came(0, 0, start + milliseconds(5));
    record.came(0, 1, start + milliseconds(6 + step));
    record.ended(0, step, start + milliseconds(7), When{});
  }
  TrainingTimes times;
  record.tell(times);
  ASSERT_EQ(times.sent.size(), 1u);
  EXPECT_EQ(times.sent[0].buckets, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(times.sent[0].ready, milliseconds(2));
  EXPECT_EQ(times.sent[0].start, milliseconds(3));
  EXPECT_EQ(times.sent[0].end, milliseconds(6));  // of the later one
  EXPECT_DOUBLE_EQ(times.all_reduces, 1);         // per step
}

TEST(Record, ThatOfAnUpdateAtTheEndIsTheFirstThatExchanges) {
  const TrainingPlan plan = plan_training(training_experiment(
      strategy(kRing, R"({"type": "local-sgd", "interval": 2})"), 2, R"({"steps": 2})"));
  Engine engine;
  Record record(plan, engine, 2, false, {});
  for (const std::int64_t step : {0, 1}) {
    for (const std::int32_t worker : {0, 1}) {
      record.begins(step);
      record.computes(worker, step, at_ms(10 * step), milliseconds(step + worker));
    }
    record.reduced(kOne, {8}, at_ms(10 * step + 4), at_ms(10 * step + 7));
    for (const std::int32_t worker : {0, 1})
      record.ended(worker, step, at_ms(10 * step + 9), When{});
  }
  TrainingTimes times;
  record.tell(times);
  ASSERT_EQ(times.sent.size(), 1u);
  EXPECT_EQ(times.sent[0].start, milliseconds(7));
  EXPECT_EQ(record.longest_compute(0), milliseconds(1));  // of 0 and 1
  EXPECT_EQ(record.longest_compute(1), milliseconds(2));
}

}  // namespace
}  // namespace steptime
