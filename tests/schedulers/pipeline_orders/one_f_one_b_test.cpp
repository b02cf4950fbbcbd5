#include "tests/support/config_text.h"
#include "tests/support/pipeline_sweep.h"

#include <memory>

#include <gtest/gtest.h>

namespace steptime {
namespace {

const PipelineOrder& one_f_one_b() {
  static const auto order = make<PipelineOrder>(R"("1f1b")");
  return *order;
}

// p = 3: 2, 1 and 0 forward passes before the pairs.
TEST(OneFOneB, EarlierRanksStartWithMoreForwardPasses) {
  const PipelineShape shape{.ranks = 3, .micro_batches = 4};
  EXPECT_EQ(text_of(one_f_one_b(), shape, 0), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(text_of(one_f_one_b(), shape, 1), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(text_of(one_f_one_b(), shape, 2), "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST(OneFOneB, WithFewMicroBatchesItIsGPipe) {
  const PipelineShape shape{.ranks = 4, .micro_batches = 2};
  EXPECT_EQ(text_of(one_f_one_b(), shape, 0), "F0 F1 B0 B1");
  EXPECT_EQ(text_of(one_f_one_b(), shape, 2), "F0 F1 B0 B1");
  EXPECT_EQ(text_of(one_f_one_b(), shape, 3), "F0 B0 F1 B1");
}

// (m + p - 1)(F + B), F = 1, B = I + W = 2: 11 x 3, 15 x 3, 39 x 3.
TEST(OneFOneB, TakesAsLongAsGPipe) {
  EXPECT_EQ(sweep(one_f_one_b(), {4, 8}, {}).makespan, 33);
  EXPECT_EQ(sweep(one_f_one_b(), {8, 8}, {}).makespan, 45);
  EXPECT_EQ(sweep(one_f_one_b(), {8, 32}, {}).makespan, 117);
}

// min(p - r, m).
TEST(OneFOneB, HoldsOneMicroBatchLessARank) {
  EXPECT_EQ(sweep(one_f_one_b(), {4, 8}, {}).held, (std::vector<std::int64_t>{4, 3, 2, 1}));
  EXPECT_EQ(sweep(one_f_one_b(), {4, 2}, {}).held, (std::vector<std::int64_t>{2, 2, 2, 1}));
}

/// When rank r ends F (`up`) or B of micro-batch i, from what the ranks do and without the order's
/// file: rank r makes w = min(p - 1 - r, m) forward passes, so that F of i follows B of i - w - 1,
/// and B of j follows F of j + w.
struct Recurrence {
  PipelineShape shape;
  std::int64_t forward;
  std::int64_t backward;
  std::vector<std::int64_t> latency;  ///< of the boundary above rank r
  std::map<std::tuple<bool, int, int>, std::int64_t> known = {};

  std::int64_t end(bool up, int r, int i) {
    if (const auto found = known.find({up, r, i}); found != known.end()) return found->second;
    const int w = std::min(shape.ranks - 1 - r, shape.micro_batches);
    std::int64_t at = 0;
    const auto after = [&](std::int64_t time) { at = std::max(at, time); };
    const auto boundary = [&](int lower) { return latency[static_cast<std::size_t>(lower)]; };
    if (up) {
      if (i > 0) after(end(true, r, i - 1));
      if (i > w) after(end(false, r, i - w - 1));
      if (r > 0) after(end(true, r - 1, i) + boundary(r - 1));
    } else {
      if (i > 0) after(end(false, r, i - 1));
      after(end(true, r, std::min(i + w, shape.micro_batches - 1)));
      if (r + 1 < shape.ranks) after(end(false, r + 1, i) + boundary(r));
    }
    return known[{up, r, i}] = at + (up ? forward : backward);
  }
};

// By hand, p = 2, m = 2, F = 1, B = 2, 3 at the boundary: rank 0 ends F0 1, F1 2; rank 1 F0 at
// 1 + 3 + 1 = 5, B0 7, F1 8, B1 10; rank 0 B0 at 7 + 3 + 2 = 12, B1 at 10 + 3 + 2 = 15.
TEST(OneFOneB, ALatencyAtTheBoundaryByHand) {
  EXPECT_EQ(sweep(one_f_one_b(), {2, 2}, {}, {3}).makespan, 15);
  Recurrence recurrence{.shape = {2, 2}, .forward = 1, .backward = 2, .latency = {3}};
  EXPECT_EQ(recurrence.end(false, 0, 1), 15);
}

TEST(OneFOneB, LatenciesAtEveryBoundary) {
  const std::vector<std::int64_t> latencies{7, 0, 3, 11, 2, 5, 1};
  for (const PipelineShape shape : {PipelineShape{2, 1}, {2, 9}, {3, 2}, {4, 8}, {8, 8}, {8, 32}}) {
    for (const ChunkTimes times : {ChunkTimes{1, 1, 1}, {10, 13, 4}, {3, 1, 0}, {1, 0, 9}}) {
      Recurrence recurrence{.shape = shape,
                            .forward = times.forward,
                            .backward = times.input_gradient + times.weight_gradient,
                            .latency = latencies};
      EXPECT_EQ(sweep(one_f_one_b(), shape, times, latencies).makespan,
                recurrence.end(false, 0, shape.micro_batches - 1))
          << shape.ranks << " ranks, " << shape.micro_batches << " micro-batches";
    }
  }
}

}  // namespace
}  // namespace steptime
