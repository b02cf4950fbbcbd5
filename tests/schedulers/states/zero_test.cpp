#include "sim/core/error.h"
#include "sim/layouts/states.h"
#include "tests/support/config_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

std::unique_ptr<States> zero(int stage) {
  return make<States>(fmt::format(R"({{"type": "zero", "stage": {}}})", stage));
}

// Bytes of a parameter with weights of 2 B, gradients of 4 B and states of 12 B over d ranks: 18,
// 6 + 12/d, 2 + 16/d, 18/d. Source: Rajbhandari et al., 1910.02054 figure 1; Megatron-LM
// docs/user-guide/features/dist_optimizer.md.
TEST(Zero, EachStageCutsOneThingMore) {
  const auto bytes = [](const States& states, std::int64_t d) {
    const StateParts parts = states.parts(d);
    return 2.0 / static_cast<double>(parts.weights) + 4.0 / static_cast<double>(parts.gradients) +
           12.0 / static_cast<double>(parts.optimizer);
  };
  EXPECT_DOUBLE_EQ(bytes(*zero(1), 8), 6 + 12.0 / 8);
  EXPECT_DOUBLE_EQ(bytes(*zero(2), 8), 2 + 16.0 / 8);
  EXPECT_DOUBLE_EQ(bytes(*zero(3), 8), 18.0 / 8);
  EXPECT_DOUBLE_EQ(bytes(*make<States>(R"({"type": "zero"})"), 8), 7.5);
}

TEST(Zero, SlowSoftwareHasAShareOfTheAdapters) {
  EXPECT_EQ(zero(3)->share_of_adapters(), 1);
  EXPECT_EQ(make<States>(R"({"type": "zero", "stage": 3, "share_of_adapters": 0.075})")
                ->share_of_adapters(),
            0.075);
  EXPECT_THROW(make<States>(R"({"type": "zero", "stage": 1, "share_of_adapters": 0.5})"),
               InputError);
}

TEST(Zero, SumsInPartsAndGathersWhatWasUpdated) {
  for (const int stage : {1, 2, 3})
    EXPECT_EQ(zero(stage)->sum(), Operation::kReduceScatter);
  EXPECT_TRUE(zero(1)->gathers_updates());
  EXPECT_FALSE(zero(1)->sums_every_micro_batch());
  EXPECT_TRUE(zero(2)->sums_every_micro_batch());
  EXPECT_FALSE(zero(3)->gathers_updates());
  EXPECT_TRUE(zero(3)->gathering(false)->reshards);
}

// max(40e6, 1e6 d) parameters. Source: Megatron-LM distributed_data_parallel_config.py.
TEST(Zero, BucketsGrowWithTheRanks) {
  EXPECT_EQ(*zero(1)->bucket(8), 40'000'000);
  EXPECT_EQ(*zero(1)->bucket(64), 64'000'000);
}

}  // namespace
}  // namespace steptime
