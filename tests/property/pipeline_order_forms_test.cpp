// Pipeline orders against the closed forms of their makespans, each inside its conditions, and
// against what no order can beat.
#include "tests/support/any_choice.h"
#include "tests/support/config_text.h"
#include "tests/support/pipeline_sweep.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

std::unique_ptr<PipelineOrder> order_of(const std::string& name) {
  return make<PipelineOrder>(fmt::format("\"{}\"", name));
}
std::unique_ptr<PipelineOrder> interleaved(std::int64_t chunks, std::int64_t group) {
  return make<PipelineOrder>(fmt::format(
      R"({{"type": "interleaved", "chunks": {}, "microbatch_group": {}}})", chunks, group));
}
/// From `low` to `high`, whatever the size of the case.
std::int32_t any(std::int32_t low, std::int32_t high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}
PipelineShape any_shape() {
  return {.ranks = any(1, 10), .micro_batches = any(1, 30)};
}
/// Often small, so that passes end together.
std::int64_t any_time() {
  return any(0, 2) == 0 ? any(0, 4) : any(0, 1000);
}
ChunkTimes any_times() {
  return {any_time(), any_time(), any_time()};
}

RC_GTEST_PROP(PipelineOrders, GPipeAndOneFOneBTakeMicroBatchesAndRanksLessOne, ()) {
  const PipelineShape shape = any_shape();
  const ChunkTimes times = any_times();
  const std::int64_t form = (shape.micro_batches + shape.ranks - 1) * times.all();
  for (const std::string name : {"gpipe", "1f1b"}) {
    const PipelineSweep swept = sweep(*order_of(name), shape, times);
    RC_ASSERT(swept.ends);
    RC_ASSERT(swept.makespan == form);
    for (std::int32_t r = 0; r < shape.ranks; ++r) {
      const std::int32_t most =
          name == "gpipe" ? shape.micro_batches : std::min(shape.ranks - r, shape.micro_batches);
      RC_ASSERT(swept.held[static_cast<std::size_t>(r)] == most);
    }
  }
}

/// Any chunks and group: what is not refused keeps the closed form, for any F and B.
RC_GTEST_PROP(PipelineOrders, InterleavedIsRefusedOrTakesItsForm, ()) {
  PipelineShape shape = any_shape();
  const std::int64_t chunks = any(2, 6);
  std::int32_t group = any(1, 32);
  if (any(0, 3) > 0) {  // mostly what is allowed
    shape.ranks = any(2, 8);
    group = any(shape.ranks, shape.ranks + 6);
    const std::int32_t left = any(shape.ranks, group);  // a whole one, too
    shape.micro_batches = any(1, 3) * group + (any(0, 1) == 0 ? left : 0);
  }
  const auto order = interleaved(chunks, group);
  const std::int32_t left = shape.micro_batches % group;
  const bool allowed = shape.ranks > 1 && group >= shape.ranks && group <= shape.micro_batches &&
                       (left == 0 || left >= shape.ranks);
  RC_CLASSIFY(allowed);
  RC_ASSERT(order->refusal(shape).empty() == allowed);
  if (!allowed) return;
  const ChunkTimes times = any_times();
  const PipelineSweep swept = sweep(*order, shape, times);
  RC_ASSERT(swept.ends);
  RC_ASSERT(swept.makespan ==
            (shape.micro_batches * chunks + shape.ranks - 1) * times.all());  // of one chunk
  RC_ASSERT(swept.held[0] == std::min(shape.micro_batches * chunks,
                                      2 * (shape.ranks - 1) + (chunks - 1) * group + 1));
}

RC_GTEST_PROP(PipelineOrders, ZbH1TakesItsFormWhileWeightGradientsAreTheShortest, ()) {
  const std::int32_t ranks = any(1, 10);
  const PipelineShape shape{.ranks = ranks, .micro_batches = any(ranks, 30)};
  ChunkTimes times = any_times();
  times.weight_gradient = std::min({times.weight_gradient, times.forward, times.input_gradient});
  const PipelineSweep swept = sweep(*order_of("zb-h1"), shape, times);
  RC_ASSERT(swept.ends);
  RC_ASSERT(swept.makespan ==
            shape.micro_batches * times.all() +
                (shape.ranks - 1) * (times.forward + times.input_gradient - times.weight_gradient));
  for (const std::int64_t held : swept.held)
    RC_ASSERT(held == shape.ranks);
}

/// Every order that there is, with any of its keys, inside and outside the conditions above.
RC_GTEST_PROP(PipelineOrders, EachPassOnceToTheEndAndNeverBelowTheBound, ()) {
  const PipelineShape shape = any_shape();
  const ChunkTimes times = any_times();
  for (const auto& [name, item] : PipelineOrders::instance().items()) {
    const auto order = make<PipelineOrder>(any_choice(name, item, 6).dump());
    if (!order->refusal(shape).empty()) continue;
    RC_ASSERT(makes_each_once(*order, shape));
    const PipelineSweep swept = sweep(*order, shape, times);
    RC_ASSERT(swept.ends);
    RC_ASSERT(swept.makespan >= earliest_makespan(*order, shape, times));
    // Later arrivals end no earlier, and a rank that waits for them still ends.
    std::vector<std::int64_t> latency;
    for (std::int32_t s = 1; s < shape.ranks * order->chunks(); ++s)
      latency.push_back(any_time());
    const PipelineSweep later = sweep(*order, shape, times, latency);
    RC_ASSERT(later.ends);
    RC_ASSERT(later.makespan >= swept.makespan);
    RC_ASSERT(later.held == swept.held);
  }
}

}  // namespace
}  // namespace steptime
