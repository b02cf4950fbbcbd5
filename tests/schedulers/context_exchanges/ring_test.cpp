#include "sim/layouts/play.h"
#include "tests/support/layouts.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// One layer of forward 50, of which attention takes 40, and backward 100, of which 80.
ModelWork one_layer() {
  ModelWork work = work_of_blocks(1, {50, 90, 10});
  work.layers[0].attention = Duration(40);
  work.layers[0].attention_gradient = Duration(80);
  work.exchanged.keys_values = {6};
  return work;
}

// Over c = 4 ranks attention is four pieces, of 10 forward and 20 backward, as causal halves give
// all ranks the same. Three exchanges go on beside the first three; one of n bytes takes n ps, keys
// and values 6, in the backward pass with their gradients 12: less than a piece, so all is hidden.
TEST(RingExchange, GoesOnBesideAttention) {
  const TestLayout test{.degrees = {1, 4, 1, 1}, .costs = costs_of({}, 1e-12)};
  const LayoutTimes times = play_layout(plan_of(test, one_layer()));
  EXPECT_EQ(times.ranks[0].bytes[static_cast<std::size_t>(GroupKind::kContext)], 3 * 6 + 3 * 12);
  EXPECT_EQ(times.ranks[0].spent[static_cast<std::size_t>(Spent::kContext)].count(), 0);
  EXPECT_EQ(times.ranks[0].spent[static_cast<std::size_t>(Spent::kCompute)].count(), 150);
}

// At 3 ps a byte an exchange takes 18, beside a piece of 10: 8 of each are seen, three times; in
// the backward pass 36 beside 20, 16 three times. Not beside compute, all of them are.
TEST(RingExchange, WhatIsLongerThanAPieceIsSeen) {
  TestLayout test{.degrees = {1, 4, 1, 1}, .costs = costs_of({}, 3e-12)};
  const auto seen = [&] {
    const LayoutTimes times = play_layout(plan_of(test, one_layer()));
    return times.ranks[0].spent[static_cast<std::size_t>(Spent::kContext)].count();
  };
  EXPECT_EQ(seen(), 3 * 8 + 3 * 16);
  test.beside.context = false;
  EXPECT_EQ(seen(), 3 * 18 + 3 * 36);
}

}  // namespace
}  // namespace steptime
