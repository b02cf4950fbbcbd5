#include "tests/support/config_text.h"
#include "tests/support/pipeline_sweep.h"

#include <memory>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

/// A group of 0: without the parameter.
std::unique_ptr<PipelineOrder> interleaved(int chunks, int group = 0) {
  const std::string more = group > 0 ? fmt::format(R"(, "microbatch_group": {})", group) : "";
  return make<PipelineOrder>(
      fmt::format(R"({{"type": "interleaved", "chunks": {}{}}})", chunks, more));
}

/// Of passes of a whole stage F = I = W = 1, in quarters, so that 2 and 4 chunks divide them.
PipelineSweep swept(int ranks, int micro_batches, int chunks) {
  const std::int64_t quarters = 4 / chunks;
  return sweep(*interleaved(chunks), {ranks, micro_batches}, {quarters, quarters, quarters});
}

// The example of Megatron-LM's schedules.py: 2 ranks, groups of 3, 5 micro-batches, 2 chunks have
// the forward passes 0 1 2 0 1 2 3 4 3 4 in chunks 0 0 0 1 1 1 0 0 1 1. Backward the chunks are
// reversed. Rank 1 starts with (v - 1) g = 3 of them, rank 0 with 2 more.
TEST(Interleaved, GroupsPassOneChunkAfterTheOther) {
  EXPECT_EQ(text_of(*interleaved(2, 3), {2, 5}, 1),
            "F0.0 F1.0 F2.0 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.0 B0.0 F4.0 B1.0 F3.1 B2.0 F4.1 B3.1 "
            "B4.1 B3.0 B4.0");
  EXPECT_EQ(text_of(*interleaved(2, 3), {2, 5}, 0),
            "F0.0 F1.0 F2.0 F0.1 F1.1 F2.1 B0.1 F3.0 B1.1 F4.0 B2.1 F3.1 B0.0 F4.1 B1.0 B2.0 B3.1 "
            "B4.1 B3.0 B4.0");
}

// m (F + B) + (p - 1)(F + B)/v: 24 + 9/v, 24 + 21/v, 96 + 21/v, four quarters each.
TEST(Interleaved, ChunksMakeBubblesSmaller) {
  EXPECT_EQ(swept(4, 8, 2).makespan, 4 * 28.5);
  EXPECT_EQ(swept(4, 8, 4).makespan, 4 * 26.25);
  EXPECT_EQ(swept(8, 8, 2).makespan, 4 * 34.5);
  EXPECT_EQ(swept(8, 8, 4).makespan, 4 * 29.25);
  EXPECT_EQ(swept(8, 32, 2).makespan, 4 * 106.5);
  EXPECT_EQ(swept(8, 32, 4).makespan, 4 * 101.25);
  // F, B of 1 and 2 a chunk: 32 x 12 + 7 x 3 = 405.
  EXPECT_EQ(sweep(*interleaved(4), {8, 32}, {1, 1, 1}).makespan, 405);
}

// min(m v, 2 (p - 1) + (v - 1) g + 1) chunks on rank 0.
TEST(Interleaved, HoldsMoreThanOneFOneB) {
  EXPECT_EQ(swept(4, 8, 2).held[0], 11);
  EXPECT_EQ(swept(4, 8, 4).held[0], 19);
  EXPECT_EQ(swept(8, 8, 2).held[0], 16);
  EXPECT_EQ(swept(8, 8, 4).held[0], 32);
  EXPECT_EQ(swept(8, 32, 2).held[0], 23);
  EXPECT_EQ(swept(8, 32, 4).held[0], 39);
}

TEST(Interleaved, OneChunkIsOneFOneB) {
  const auto other = make<PipelineOrder>(R"("1f1b")");
  for (const PipelineShape shape : {PipelineShape{4, 8}, {4, 2}, {1, 3}}) {
    for (int rank = 0; rank < shape.ranks; ++rank) {
      EXPECT_EQ(passes_of(*interleaved(1), shape, rank), passes_of(*other, shape, rank));
      EXPECT_EQ(passes_of(*interleaved(1, 3), shape, rank), passes_of(*other, shape, rank));
    }
    EXPECT_EQ(interleaved(1)->refusal(shape), "");
  }
}

TEST(Interleaved, RefusesWhatMegatronRefuses) {
  EXPECT_EQ(interleaved(2)->refusal({4, 8}), "");
  EXPECT_EQ(interleaved(2)->refusal({1, 8}),
            "interleaves chunks of a pipeline, which has one rank; expected 1f1b");
  EXPECT_EQ(interleaved(2)->refusal({4, 3}),
            "found groups of 4 micro-batches, expected from 4, the pipeline's ranks, to 3, the "
            "micro-batches of a step");
  EXPECT_EQ(interleaved(2, 3)->refusal({4, 8}),
            "found groups of 3 micro-batches, expected from 4, the pipeline's ranks, to 8, the "
            "micro-batches of a step");
  EXPECT_EQ(interleaved(2, 8)->refusal({4, 8}), "");
  EXPECT_NE(interleaved(2, 9)->refusal({4, 8}), "");
  // The last group of 9 mod 6 = 3 is too small for 4 ranks, that of 10 mod 6 = 4 is not.
  EXPECT_EQ(interleaved(2, 6)->refusal({4, 9}),
            "9 micro-batches in groups of 6 leave a group of 3, expected none or at least 4, the "
            "pipeline's ranks");
  EXPECT_EQ(interleaved(2, 6)->refusal({4, 10}), "");
}

// 2 ranks, 10^6 micro-batches in one group, 10^4 chunks: 10^10 forward passes, of which rank 1
// makes the last with micro-batch 10^6 - 1 in chunk 10^4 - 1. The backward passes follow behind.
TEST(Interleaved, CountsBeyondWhatThirtyTwoBitsHold) {
  const PipelineShape shape{.ranks = 2, .micro_batches = 1'000'000};
  const auto order = interleaved(10'000, 1'000'000);
  EXPECT_EQ(order->passes(shape, 1), 20'000'000'000);
  EXPECT_EQ(order->pass(shape, 1, 19'999'999'999), (Pass{PassKind::kBackward, 999'999, 0, true}));
  // (v - 1) g forward passes, and of the pairs behind the first 999,999 pairs' two passes each.
  EXPECT_EQ(order->pass(shape, 1, 9'999'000'000 + 2 * 999'999),
            (Pass{PassKind::kForward, 999'999, 9'999}));
}

}  // namespace
}  // namespace steptime
