#include "sim/learning/learning.h"

#include "sim/core/error.h"
#include "tests/support/config_text.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

Convergence bowl(DataSplit split) {
  return {.problem = make<Problem>(R"({"type": "quadratic", "samples": 24})"),
          .batch = 2,
          .split = split};
}

TEST(Batches, AnEpochTakesEverySampleOnce) {
  for (const DataSplit split : {DataSplit::kShuffled, DataSplit::kFixed, DataSplit::kByLabel}) {
    const Convergence c = bowl(split);
    Batches batches(c, 3, 1);
    for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
      std::multiset<std::int32_t> seen;
      for (std::int64_t worker = 0; worker < 3; ++worker) {
        for (std::int64_t step = 0; step < 4; ++step) {  // 24 / (3 * 2)
          for (const std::int32_t s : batches.batch(worker, epoch * 4 + step))
            seen.insert(s);
        }
      }
      EXPECT_EQ(seen.size(), 24u);
      EXPECT_EQ(std::set<std::int32_t>(seen.begin(), seen.end()).size(), 24u);
    }
  }
}

TEST(Batches, AFixedShareStays) {
  const Convergence c = bowl(DataSplit::kFixed);
  Batches batches(c, 3, 1);
  std::set<std::int32_t> first;
  std::set<std::int32_t> second;
  for (std::int64_t step = 0; step < 4; ++step) {
    for (const std::int32_t s : batches.batch(1, step))
      first.insert(s);
    for (const std::int32_t s : batches.batch(1, 4 + step))
      second.insert(s);
  }
  EXPECT_EQ(first, second);
}

TEST(Batches, ByLabelAWorkerSeesFewClasses) {
  // The bowl has the classes 0 and 1, 12 samples each: worker 0 of 2 has class 0 only.
  const Convergence c = bowl(DataSplit::kByLabel);
  Batches batches(c, 2, 1);
  for (std::int64_t step = 0; step < 6; ++step) {
    for (const std::int32_t s : batches.batch(0, step))
      EXPECT_EQ(c.problem->label(s), 0);
  }
}

TEST(Batches, OrderOfAskingDoesNotMatter) {
  const Convergence c = bowl(DataSplit::kShuffled);
  Batches one(c, 3, 1);
  Batches other(c, 3, 1);
  const auto late = other.batch(2, 4000);
  const std::vector<std::int32_t> kept(late.begin(), late.end());
  other.batch(0, 0);
  for (std::int64_t step = 0; step < 4000; step += 4)
    one.batch(1, step);
  const auto same = one.batch(2, 4000);
  EXPECT_EQ(kept, std::vector<std::int32_t>(same.begin(), same.end()));
}

TEST(Batches, AShareMustHoldABatch) {
  const Convergence c = bowl(DataSplit::kShuffled);
  try {
    Batches(c, 13, 1);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_EQ(
        std::string(e.what()),
        "/run/convergence/batch: 2 samples per worker and step, but 24 samples for 13 workers "
        "are 1 each");
  }
}

TEST(Convergence, StepsOfAnEpoch) {
  Convergence c = bowl(DataSplit::kShuffled);
  c.epochs = 3;
  EXPECT_EQ(c.steps(3), 12);
  c.epochs = 0.001;
  EXPECT_EQ(c.steps(3), 1);
}

}  // namespace
}  // namespace steptime
