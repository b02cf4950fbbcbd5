// Quantities of the tiny experiment times factors, and plans that are kept.
#include "sim/experiment/variants.h"

#include "sim/experiment/overrides.h"
#include "tests/support/tiny_experiment.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(Variants, AQuantityKeepsItsUnit) {
  EXPECT_EQ(scaled_text("45.25 us", 2), "90.5 us");
  EXPECT_EQ(scaled_text("1e3 ns", 0.5), "500 ns");
  EXPECT_EQ(scaled_text("1 EB", 1.5), "1.5 EB");
}

TEST(Variants, AreTheConfigWithOneQuantityTimesAFactor) {
  const TinyFolder folder;
  const Variants variants(load_document(folder.experiment(), {}));
  const Place& start = variants.places().at("/strategy/aggregation/collective/a");
  EXPECT_EQ(start.text, "1 ms");
  const Json changed = variants.with(start, 3);
  EXPECT_EQ(changed["strategy"]["aggregation"]["collective"]["a"], "3 ms");
  EXPECT_EQ(changed["strategy"]["aggregation"]["collective"]["b"], "1 ns/B");
  // 42 ms, and conv's message: 3 ms and 1 ms.
  EXPECT_NEAR(variants.run(changed, nullptr, {}).result.step_time_s, 0.046, 1e-12);
}

/// With a start-up of 1 ms MG-WFBP sends fc.b (1.004 ms of sending) by itself, as fc.w exists at
/// the same time, with 10 ms both go together: fc.b would keep the link until 30.004 ms.
TEST(Variants, KeepToAPlan) {
  const TinyFolder folder;
  const Variants variants(
      load_document(folder.experiment(R"({"strategy": {"schedule": {"type": "mg-wfbp"}}})"), {}));
  const PlannedRun as_it_is = variants.run(variants.config(), nullptr, {});
  const Json slow = variants.with(variants.places().at("/strategy/aggregation/collective/a"), 30);
  const PlannedRun anew = variants.run(slow, nullptr, {});
  EXPECT_FALSE(same_plans(as_it_is.plans, anew.plans));
  const PlannedRun held = variants.run(slow, &as_it_is.plans, {});
  EXPECT_TRUE(same_plans(as_it_is.plans, held.plans));
  EXPECT_EQ(held.result.messages, as_it_is.result.messages);
  EXPECT_GT(held.result.step_time_s, anew.result.step_time_s);
}

}  // namespace
}  // namespace steptime
