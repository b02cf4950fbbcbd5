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

/// Pairs of a query's and a key's piece that attention multiplies, a piece with itself half.
double pairs(int of_queries, int of_keys) {
  if (of_queries == of_keys) return .5;
  return of_queries > of_keys ? 1 : 0;
}

// Eight pieces over four ranks, of which rank i has i and 7 - i. With its own keys a rank has half
// a pair twice and one more; with those of any other rank two: (7 - i, j) and, of j < i, (i, j),
// else (7 - i, 7 - j). So every rank has the same work with each of the four parts of keys and
// values that come to it, a quarter of attention.
TEST(RingExchange, CausalHalvesGiveEveryRankTheSameWorkInEachTurn) {
  constexpr int kRanks = 4;
  for (int rank = 0; rank < kRanks; ++rank) {
    for (int from = 0; from < kRanks; ++from) {
      double work = 0;
      for (const int queries : {rank, 2 * kRanks - 1 - rank}) {
        for (const int keys : {from, 2 * kRanks - 1 - from})
          work += pairs(queries, keys);
      }
      EXPECT_DOUBLE_EQ(work, 2) << rank << " " << from;
    }
  }
}

// In ps, an exchange of 6 B at 3 ps a byte takes 18, of 12 B 36. Forward: 10 beside each of three
// exchanges, which end at 18, 36 and 54, then the last piece of 10 and the 10 that are no
// attention:
// 74. Backward, 90 for inputs and 10 for weights: half of the 10 that are no attention, three
// exchanges of 36, the last piece of 20, the other half, 10 for weights: 5 + 108 + 20 + 5 + 10 =
// 148. Then the gradient of the layer's one parameter, a byte, is summed over the four: 3.
TEST(RingExchange, FourRanksByHand) {
  const TestLayout test{.degrees = {1, 4, 1, 1}, .costs = costs_of({}, 3e-12)};
  const LayoutPlan plan = plan_of(test, one_layer());
  for (const LayoutTimes& times : in_every_way(plan))
    EXPECT_EQ(times.step.count(), 74 + 148 + 3);
}

}  // namespace
}  // namespace steptime
