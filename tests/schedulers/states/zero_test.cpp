#include "sim/core/error.h"
#include "sim/layouts/states.h"
#include "sim/workload/model_work.h"
#include "tests/support/config_text.h"
#include "tests/support/layouts.h"

#include <memory>

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

// Of a shape trained with Adam, over d = 8 ranks, of which two share the tokens of a sample: with
// gradients of 4 B 18 and 6 + 12/d, of 2 B 20 and 4 + 16/d, in float32 16 and 8 + 8/d. Source:
// Megatron-LM docs/user-guide/features/dist_optimizer.md.
TEST(Zero, BytesOfAParameterWithAndWithoutParts) {
  const auto bytes = [](const char* precision, const char* dtype, const States& states) {
    const Config section = config_of(
        fmt::format(R"({{"model": "llama-2-7b", "device": "a100", "batch": 1, "sequence": 2048,
                         "precision": "{}", "dtype": "{}", "optimizer": "adam"}})",
                    precision, dtype),
        workload_params());
    const TestLayout layout{.degrees = {1, 2, 4, 1}};
    const ParameterBytes each = read_shape(section, {.context = 2}).parameter;
    const StateParts parts = states.parts(plan_of(layout, work_of_blocks(1, {})).sharers());
    return static_cast<double>(each.weight) / static_cast<double>(parts.weights) +
           static_cast<double>(each.gradient) / static_cast<double>(parts.gradients) +
           static_cast<double>(each.optimizer) / static_cast<double>(parts.optimizer);
  };
  const auto whole = make<States>(R"({"type": "replicated"})");
  EXPECT_DOUBLE_EQ(bytes("bfloat16", "float32", *whole), 18);
  EXPECT_DOUBLE_EQ(bytes("bfloat16", "float32", *zero(1)), 6 + 12. / 8);
  EXPECT_DOUBLE_EQ(bytes("float16", "float16", *whole), 20);
  EXPECT_DOUBLE_EQ(bytes("float16", "float16", *zero(1)), 4 + 16. / 8);
  EXPECT_DOUBLE_EQ(bytes("float32", "float32", *whole), 16);
  EXPECT_DOUBLE_EQ(bytes("float32", "float32", *zero(1)), 8 + 8. / 8);
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
