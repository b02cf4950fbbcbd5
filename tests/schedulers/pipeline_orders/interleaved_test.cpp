#include "sim/layouts/pipeline_order.h"
#include "tests/support/layouts.h"

#include <string>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

std::unique_ptr<PipelineOrder> interleaved(int chunks, int group = 0) {
  return make<PipelineOrder>(
      group == 0 ? fmt::format(R"({{"type": "interleaved", "chunks": {}}})", chunks)
                 : fmt::format(R"({{"type": "interleaved", "chunks": {}, "microbatch_group": {}}})",
                               chunks, group));
}

// m(F + B) + (p - 1)(F + B)/v, of whole stages with F = 1, B = 2, here in chunks of 1/v: v times
// as much. Rank 0 holds min(m v, 2(p - 1) + (v - 1)p + 1) chunks. Source: Narayanan et al.,
// 2104.04473 section 2.2.
TEST(Interleaved, FillsAndEmptiesInPieces) {
  struct Case {
    int p, m, v;
    double makespan;
    int held;
  };
  for (const Case& c : {Case{4, 8, 2, 28.5, 11},
                        {4, 8, 4, 26.25, 19},
                        {8, 8, 2, 34.5, 16},
                        {8, 8, 4, 29.25, 32},
                        {8, 32, 2, 106.5, 23},
                        {8, 32, 4, 101.25, 39}}) {
    const SweptOrder swept = sweep_order(*interleaved(c.v), {c.p, c.m}, {1, 1, 1});
    EXPECT_TRUE(swept.ends);
    EXPECT_EQ(static_cast<double>(swept.makespan), c.makespan * c.v) << c.p << " " << c.m;
    EXPECT_EQ(swept.held, c.held) << c.p << " " << c.m << " " << c.v;
  }
}

// Seven micro-batches in groups of four, then three, on two ranks: the last group has its own size.
TEST(Interleaved, TheLastGroupMayBeSmaller) {
  const auto order = interleaved(2, 4);
  const PipelineShape shape{2, 7};
  EXPECT_EQ(order->refusal(shape), "");
  EXPECT_EQ(order->pass(shape, 1, 7).micro_batch, 3);
  const SweptOrder swept = sweep_order(*order, shape, {2, 3, 1});
  EXPECT_TRUE(swept.ends);
  EXPECT_EQ(swept.makespan, 2 * 7 * 6 + (2 - 1) * 6);  // in chunks: v m (f + b) + (p - 1)(f + b)
}

TEST(Interleaved, RefusesWhatMegatronRefuses) {
  EXPECT_EQ(interleaved(2)->refusal({1, 8}),
            "interleaves chunks of a pipeline, which has one rank; expected 1f1b");
  EXPECT_EQ(interleaved(2, 2)->refusal({4, 8}),
            "found groups of 2 micro-batches, expected from 4, the pipeline's ranks, to 8, the "
            "micro-batches of a step");
  EXPECT_EQ(interleaved(2)->refusal({4, 6}),
            "6 micro-batches in groups of 4 leave a group of 2, expected none or at least 4, the "
            "pipeline's ranks");
  EXPECT_EQ(interleaved(2, 5)->refusal({4, 9}), "");
}

}  // namespace
}  // namespace steptime
