// Every kind of states that is registered, with its defaults and with other values of its keys:
// what it says of its parts agrees, and a step plays it.
#include "tests/support/drawn_layout.h"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

/// Numbers up to 4, both answers and all words that a key takes.
std::vector<Json> values_of(const Param& key) {
  if (key.kind == Kind::kBoolean) return {false, true};
  std::vector<Json> values(key.words.begin(), key.words.end());
  if (key.kind != Kind::kInteger) return values;
  for (std::int64_t number = 1; number <= 4; ++number) {
    const auto value = static_cast<double>(number);
    if (key.range.low <= value && value <= key.range.high) values.emplace_back(number);
  }
  return values;
}

/// Each kind with its defaults, and with one of its keys at a time.
std::vector<std::string> all_states() {
  std::vector<std::string> of;
  for (const auto& [name, item] : StateKinds::instance().items()) {
    const Json with_defaults{{"type", name}};
    of.push_back(with_defaults.dump());
    for (const Param& key : item.params) {
      for (const Json& value : values_of(key)) {
        Json with_key = with_defaults;
        with_key[key.key] = value;
        of.push_back(with_key.dump());
      }
    }
  }
  return of;
}

TEST(States, WhatIsCutComesTogetherAgain) {
  for (const std::string& json : all_states()) {
    const auto states = make<States>(json);
    for (const std::int64_t ranks : {1, 2, 6, 16, 1024}) {
      SCOPED_TRACE(fmt::format("{} of {} ranks", json, ranks));
      EXPECT_TRUE(ranks > 1 || states->refusal(ranks).empty());
      if (!states->refusal(ranks).empty()) continue;
      const auto [weights, gradients, optimizer] = states->parts(ranks);
      const std::int64_t shards = states->shard_group(ranks);
      EXPECT_EQ(ranks % shards, 0);
      EXPECT_EQ(states->shard_group(shards), shards);
      EXPECT_EQ(states->parts(shards).optimizer, optimizer);
      for (const std::int64_t parts : {weights, gradients, optimizer})
        EXPECT_TRUE(parts == 1 || parts == shards) << parts << " of " << shards;
      const bool is_summed_up_in_parts = states->sum() == Operation::kReduceScatter;
      EXPECT_TRUE(is_summed_up_in_parts || states->sum() == Operation::kAllReduce);
      if (shards == 1) continue;
      // Weights in parts are gathered in units, and those that were updated in parts with the step.
      EXPECT_EQ(states->gathering(false).has_value(), weights > 1);
      EXPECT_EQ(states->gathering(true).has_value(), weights > 1);
      EXPECT_EQ(states->gathers_updates(), optimizer > weights);
      // A sum that every rank has to hold would need whole gradients.
      if (gradients > 1) {
        EXPECT_TRUE(is_summed_up_in_parts);
        EXPECT_TRUE(states->sums_every_micro_batch());
      }
      // A rank that has a part of the sum can update no more.
      if (is_summed_up_in_parts) {
        EXPECT_GT(optimizer, 1);
      }
    }
  }
}

// A rank holds its parts of all layers, rounded up, and no more when a step is over; by every way.
RC_GTEST_PROP(States, EachWayToPlayThemHoldsTheirParts, ()) {
  DrawnLayout drawn;
  drawn.test.states = *rc::gen::elementOf(all_states());
  RC_PRE(make<States>(drawn.test.states)->refusal(drawn.sharers()).empty());
  const LayoutPlan plan = plan_of(drawn.test, drawn.work);
  const StateParts parts = make<States>(drawn.test.states)->parts(drawn.sharers());
  const ParameterBytes& bytes = drawn.work.parameter;
  const auto each = in_every_way(plan);
  for (const LayoutTimes& times : each) {
    RC_ASSERT(times.step == each[0].step);
    for (std::int64_t place = 0; place < drawn.places(); ++place) {
      const StageTimes& rank = times.ranks[static_cast<std::size_t>(place)];
      RC_ASSERT(rank.bytes == each[0].ranks[static_cast<std::size_t>(place)].bytes);
      RC_ASSERT(rank.peak == each[0].ranks[static_cast<std::size_t>(place)].peak);
      std::int64_t params = 0;
      for (std::int64_t chunk = 0; chunk < drawn.chunks; ++chunk)
        params += drawn.params_of_stage(chunk * drawn.places() + place);
      const auto holds = [&](HeldFor what, std::int64_t of_each, std::int64_t into) {
        const auto left = rank.left[static_cast<std::size_t>(what)];
        RC_ASSERT(left == (params * of_each + into - 1) / into);
      };
      holds(HeldFor::kWeights, bytes.weight, parts.weights);
      holds(HeldFor::kGradients, bytes.gradient, parts.gradients);
      holds(HeldFor::kOptimizer, bytes.optimizer, parts.optimizer);
    }
  }
}

}  // namespace
}  // namespace steptime
