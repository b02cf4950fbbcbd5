// The ranks' program against a sweep over the lists of passes, with a latency at every boundary.
#include "sim/layouts/play.h"
#include "tests/support/any_choice.h"
#include "tests/support/layouts.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

RC_GTEST_PROP(PipelineOrders, TheProgramTakesWhatTheSweepSays, ()) {
  const auto p = *rc::gen::inRange(1, 10);
  const auto m = *rc::gen::inRange(1, 30);
  // Every order that is registered, with any of its keys: chunks and groups of any size.
  const std::string json = any_choice(PipelineOrders::instance(), 11).dump();
  const auto order = make<PipelineOrder>(json);
  const PipelineShape shape{p, m};
  RC_PRE(order->refusal(shape).empty());
  const auto length = [] { return *rc::gen::inRange<std::int64_t>(1, 20); };
  const ChunkTimes times{length(), length(), length()};
  // Sends of one direction take turns: a latency that no pass is shorter than never queues.
  const std::int64_t latency =
      *rc::gen::inRange<std::int64_t>(0, 1 + std::min(times.forward, times.input_gradient));
  const TestLayout test{.degrees = {1, 1, 1, p},
                        .order = json,
                        .micro_batches = m,
                        .costs = costs_of(Duration(latency), 0)};
  const LayoutTimes played = play_layout(plan_of(test, work_of_blocks(p * order->chunks(), times)));
  // Between two chunks of one rank nothing travels.
  const std::int64_t boundary = p == 1 ? 0 : latency;
  const PipelineSweep swept =
      sweep(*order, shape, times,
            std::vector<std::int64_t>(static_cast<std::size_t>(p * order->chunks()), boundary));
  RC_ASSERT(swept.ends);
  RC_ASSERT(played.step.count() == swept.makespan);
}

}  // namespace
}  // namespace steptime
