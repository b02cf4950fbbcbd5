// Closed forms of the makespans, where they hold, and the bound of work and dependencies, where
// they do not.
#include "sim/layouts/play.h"
#include "tests/support/layouts.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

struct Drawn {
  std::string name;
  std::int32_t p = *rc::gen::inRange(1, 10);
  std::int32_t m = *rc::gen::inRange(1, 30);
  std::int32_t v = 1;
  std::int32_t group = 0;
  PassLengths lengths{*rc::gen::inRange<std::int64_t>(1, 20),
                      *rc::gen::inRange<std::int64_t>(1, 20),
                      *rc::gen::inRange<std::int64_t>(1, 20)};

  Drawn() {
    name = *rc::gen::element<std::string>("gpipe", "1f1b", "interleaved", "zb-h1");
    if (name != "interleaved") return;
    v = *rc::gen::inRange(1, 6);
    group = *rc::gen::inRange(1, 12);
  }
  std::string json() const {
    if (name != "interleaved") return fmt::format(R"({{"type": "{}"}})", name);
    return fmt::format(R"({{"type": "interleaved", "chunks": {}, "microbatch_group": {}}})", v,
                       group);
  }
  PipelineShape shape() const { return {p, m}; }
  std::int64_t work() const { return lengths.forward + lengths.input + lengths.weight; }

  /// 0 outside of its conditions.
  std::int64_t closed_form() const {
    if (name == "gpipe" || name == "1f1b") return (m + p - 1) * work();
    if (name == "interleaved") return m * v * work() + (p - 1) * work();
    const bool holds =
        m >= p && lengths.weight <= lengths.forward && lengths.weight <= lengths.input;
    return holds ? m * work() + (p - 1) * (lengths.forward + lengths.input - lengths.weight) : 0;
  }
  /// The last rank makes all its passes, and begins behind a forward pass of each rank before.
  std::int64_t bound() const { return m * v * work() + (p - 1) * lengths.forward; }
};

RC_GTEST_PROP(PipelineOrders, TakeTheirClosedFormAndNeverLessThanTheirWork, ()) {
  const Drawn drawn;
  const auto order = make<PipelineOrder>(drawn.json());
  RC_PRE(order->refusal(drawn.shape()).empty());
  const SweptOrder swept = sweep_order(*order, drawn.shape(), drawn.lengths);
  RC_ASSERT(swept.ends);
  if (const std::int64_t closed = drawn.closed_form(); closed > 0)
    RC_ASSERT(swept.makespan == closed);
  RC_ASSERT(swept.makespan >= drawn.bound());
}

// The ranks' program against the sweep, with and without a latency at every boundary.
RC_GTEST_PROP(PipelineOrders, TheProgramTakesWhatTheSweepSays, ()) {
  const Drawn drawn;
  const auto order = make<PipelineOrder>(drawn.json());
  RC_PRE(order->refusal(drawn.shape()).empty());
  // Sends of one direction take turns: a latency that no pass is shorter than never queues.
  const std::int64_t latency =
      *rc::gen::inRange<std::int64_t>(0, 1 + std::min(drawn.lengths.forward, drawn.lengths.input));
  const TestLayout test{.degrees = {1, 1, 1, drawn.p},
                        .order = drawn.json(),
                        .micro_batches = drawn.m,
                        .costs = costs_of(Duration(latency), 0)};
  const LayoutTimes times =
      play_layout(plan_of(test, work_of_blocks(drawn.p * drawn.v, drawn.lengths)));
  const SweptOrder swept = sweep_order(*order, drawn.shape(), drawn.lengths, latency);
  RC_ASSERT(times.step.count() == swept.makespan);
}

}  // namespace
}  // namespace steptime
